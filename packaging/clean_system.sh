# Sourced by deb-try.sh and bundle-try.sh: a clean Debian system in a folder of its own, without a network where it is used.
clean_packages="mmdebstrap util-linux iproute2"

# make_clean RELEASE [PACKAGE…]: the system, in $clean; removed when the script ends.
make_clean() {
  local release=$1 with
  shift
  with=$(IFS=,; printf '%s' "$*")
  say "making a clean Debian $release"
  [ -z "${clean:-}" ] || rm -rf "$clean"
  clean=$(mktemp -d)
  trap 'rm -rf "$clean"' EXIT
  mmdebstrap --quiet --variant=minbase ${with:+--include="$with"} "$release" "$clean"
  cp /etc/resolv.conf "$clean/etc/"
}

# within COMMAND…: in the clean system; offline COMMAND…: there, with no network but its own loopback.
within() {
  unshare --mount --pid --fork --mount-proc="$clean/proc" chroot "$clean" \
    env -i PATH="$PATH" HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}
offline() { unshare --net -- "$BASH" -c "$(declare -f within); clean=$clean; ip link set lo up; within \"\$@\"" - "$@"; }

# says PATTERN COMMAND…: offline, and what it prints matches.
says() {
  local pattern=$1 said
  shift
  said=$(offline "$@" 2>&1) || true
  grep -qE -- "$pattern" <<<"$said" || die "\"$*\" printed no \"$pattern\": $said"
  say "$* -> $(grep -m1 -oE -- ".{0,40}($pattern).{0,40}" <<<"$said")"
}

# serves SATCHEL: its server answers a question that bash alone asks it.
serves() {
  local said
  said=$(offline bash -c '
    "$0" serve >/tmp/serve.log 2>&1 &
    ask() { exec 3<>/dev/tcp/127.0.0.1/8421 && printf "%s\r\n" "$1 HTTP/1.0" "Host: 127.0.0.1:8421" "${@:2}" >&3 && cat <&3; }
    for try in $(seq 100); do ask "GET /health" "" 2>&1 | grep -q "200 OK" && break; sleep 0.1; done
    body="{\"max_tokens\": 8, \"messages\": [{\"role\": \"user\", \"content\": \"Who are you?\"}]}"
    ask "POST /v1/chat/completions" "Content-Type: application/json" "Content-Length: ${#body}" "" "$body"
    kill $! && wait' "$1" 2>&1) || true
  grep -q '"content":"[^"]' <<<"$said" || die "\"$1 serve\" did not answer: $said"
  say "$1 serve -> $(grep -oE '"content":"[^"]*"' <<<"$said")"
}
