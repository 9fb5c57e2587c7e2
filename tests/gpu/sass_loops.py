"""The loops of a kernel in nvdisasm's text (`nvdisasm -c`), and what stands in them.

Loops are natural loops: a branch back to a block through which every way to that branch leads. What lies behind BRA.DIV,
the slow way of a vote or shuffle whose warp has come apart, and subroutines that are called are in no loop. Instructions are
counted as they stand: of an `if` in a loop both ways, however often each is taken.
"""
import collections
import re

INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]+\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*(.*)")
LABEL = re.compile(r"(\.L_[\w.]+):")
TARGET = re.compile(r"`\((\.L_[\w.]+)\)")
Figures = collections.namedtuple("Figures", "loops instructions matrix local divisions bytes global_narrow shared_narrow")


class Block:
    def __init__(self):
        self.code, self.next = [], []  # (opcode, operands) each; blocks


def kernels_of(text):
    """(mangled name, its lines) of each kernel, without the subroutines behind it."""
    name, lines, takes = None, [], False
    for line in text:
        if line.startswith(".text."):
            if name:
                yield name, lines
            name, lines, takes = line[len(".text."):].rstrip().rstrip(":"), [], True
        elif line.startswith("$"):
            takes = False
        elif name and takes and (line.startswith(".L_") or line.startswith("        /*")):
            lines.append(line)
    if name:
        yield name, lines


def blocks_of(lines):
    """The kernel's blocks in their order, with their ways on."""
    blocks, labels, ends = [Block()], {}, {}
    meets = {}  # where warps of a barrier register meet: the label of its last BSSY
    for line in lines:
        if label := LABEL.match(line):
            if blocks[-1].code:
                blocks.append(Block())
            labels[label[1]] = blocks[-1]
            continue
        if not (found := INSTRUCTION.match(line)):
            continue
        guard, opcode, operands = found.groups()
        block = blocks[-1]
        block.code.append((opcode, operands))
        kind = opcode.split(".")[0]
        if kind == "BSSY":
            meets[operands.split(",")[0]] = TARGET.search(operands)[1]
        # A call of a label, not of a name, is a branch: the assembler takes it for ways out of a loop.
        if kind in ("BRA", "BRX", "EXIT", "RET", "BSYNC") or (kind == "CALL" and TARGET.match(operands)):
            meeting = meets.get(operands.split()[0]) if kind == "BSYNC" else None
            ends[len(blocks) - 1] = (guard, opcode, operands, meeting)
            blocks.append(Block())
    link(blocks, labels, ends)
    return blocks


def link(blocks, labels, ends):
    for at, block in enumerate(blocks[:-1]):
        guard, opcode, operands, meeting = ends.get(at, (None, "", "", None))
        kind, target = opcode.split(".")[0], TARGET.search(operands)
        goes_on = True
        if kind == "BRA":
            goes_on = bool(guard) or not operands.startswith("`") or opcode in ("BRA.DIV", "BRA.CONV")
            if target and opcode != "BRA.DIV":
                block.next.append(labels[target[1]])
        elif kind == "CALL":
            goes_on = bool(guard)
            block.next.append(labels[target[1]])
        elif kind == "BSYNC" and meeting:
            goes_on = False
            block.next.append(labels[meeting])
        elif kind == "BRX":
            goes_on = bool(guard)
            ways = [labels[each] for each in re.findall(r"\.L_[\w.]+", operands)]
            if not ways:
                raise ValueError(f"a switch whose ways the disassembler does not name: {opcode} {operands}")
            block.next += ways
        elif kind in ("EXIT", "RET"):
            goes_on = bool(guard)
        if goes_on:
            block.next.append(blocks[at + 1])


def order_of(blocks):
    """Those that the first leads to, in reverse post-order, numbered; and who leads to each."""
    order, seen, stack = [], {id(blocks[0])}, [(blocks[0], iter(blocks[0].next))]
    while stack:
        block, ways = stack[-1]
        for each in ways:
            if id(each) not in seen:
                seen.add(id(each))
                stack.append((each, iter(each.next)))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    number = {id(block): at for at, block in enumerate(order)}
    before = [[] for _ in order]
    for at, block in enumerate(order):
        for each in block.next:
            before[number[id(each)]].append(at)
    return order, before


def dominators_of(before):
    """Of each block the last one through which every way to it leads (Cooper, Harvey, Kennedy)."""
    over = [0] + [None] * (len(before) - 1)
    changed = True
    while changed:
        changed = False
        for at in range(1, len(before)):
            new = None
            for each in before[at]:
                if over[each] is None:
                    continue
                if new is None:
                    new = each
                    continue
                other = each
                while new != other:
                    while new > other:
                        new = over[new]
                    while other > new:
                        other = over[other]
            if over[at] != new:
                over[at], changed = new, True
    return over


def loops_of(order, before):
    """Sets of block numbers, the smallest first."""
    over, bodies = dominators_of(before), {}
    for head, comes in enumerate(before):
        for last in comes:
            at = last
            while at > head:
                at = over[at]
            if at != head or last < head:
                continue
            body, stack = bodies.setdefault(head, {head}), [last]
            while stack:
                each = stack.pop()
                if each not in body:
                    body.add(each)
                    stack += before[each]
    return sorted(bodies.values(), key=len)


def width_of(opcode):
    """Bits that a load gives a thread."""
    parts = opcode.split(".")
    if parts[0] == "LDSM":
        return 32 * int(parts[-1]) if parts[-1].isdigit() else 32
    for part in parts[1:]:
        if part in ("U8", "S8"):
            return 8
        if part in ("U16", "S16"):
            return 16
        if part in ("64", "128", "256"):
            return int(part)
    return 32


def is_matrix(opcode):
    return opcode.split(".")[0].endswith("MMA")


def matrix_in(block):
    return sum(is_matrix(opcode) for opcode, _ in block.code)


def is_division(opcode, operands):
    """Its reciprocal rounds the divisor up, which nothing else does; or it is a call."""
    if opcode.startswith(("I2F", "UI2F")):
        return opcode.endswith(".RP")
    return opcode.startswith("CALL") and re.search(r"\$__cuda_sm\d+_(div|rem)_[us]\d+", operands) is not None


def figures_of(code, loops):
    matrix = local = divisions = flags = narrow = narrow_shared = 0
    for opcode, operands in code:
        kind = opcode.split(".")[0]
        if is_matrix(opcode):
            matrix += 1
        elif kind in ("LDL", "STL"):
            local += 1
        elif kind in ("LDG", "LD", "LDGSTS"):
            width = width_of(opcode)
            narrow += width < 128
            flags += width == 8
        elif kind in ("LDS", "LDSM"):
            narrow_shared += width_of(opcode) < 64
        elif is_division(opcode, operands):
            divisions += 1
    return Figures(loops, len(code), matrix, local, divisions, flags, narrow, narrow_shared)


def hot_loops(lines):
    """The figures of what is hot in a kernel. Where it has matrix instructions: the innermost loop of each. Else every
    innermost loop: which of them is the hottest, machine code does not say."""
    blocks = blocks_of(lines)
    order, before = order_of(blocks)
    if sum(map(matrix_in, blocks)) != sum(map(matrix_in, order)):
        raise ValueError("no way was found to some of its matrix instructions")
    loops = loops_of(order, before)
    innermost = {}
    for loop in loops:
        for at in loop:
            innermost.setdefault(at, id(loop))
    hot = {innermost[at] for at, block in enumerate(order) if at in innermost and matrix_in(block)}
    if not hot:
        hot = {id(loop) for loop in loops if all(innermost[at] == id(loop) for at in loop)}
    taken = set()
    for loop in loops:
        if id(loop) in hot:
            taken |= loop
    code = [each for at in sorted(taken) for each in order[at].code if not each[0].startswith("NOP")]
    return figures_of(code, len(hot))
