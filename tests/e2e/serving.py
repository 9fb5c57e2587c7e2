"""`satchel serve` as a process, for the tests of this folder, and requests without any client's package."""
import http.client
import json
import subprocess


class Server:
    def __init__(self, program, *options):
        self.process = subprocess.Popen([program, "serve", "--port", "0", "--json", "-q", *options],
                                        stdout=subprocess.PIPE, text=True)
        facts = json.loads(self.process.stdout.readline())
        self.url, self.port, self.model = facts["url"], facts["port"], facts["model"]
        assert self.ask("/health").status == 200  # it says that it serves when it does

    def connect(self, timeout=60):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, path, body=None, method="GET"):
        """The response, whose bytes are still to be read; POST with a body."""
        connection = self.connect()
        if body is None:
            connection.request(method, path)
        else:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return connection.getresponse()

    def post(self, path, body):
        response = self.ask(path, body)
        return response.status, json.loads(response.read())

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        self.process.terminate()
        code = self.process.wait(10)
        assert failed or code == 0, code


def events_of(response):
    """The name and the data of each event of a stream, as they come."""
    name = None
    for line in response:
        line = line.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            yield name, line[6:]
            name = None
        else:
            assert line == "", line


def run(tests, server):
    for test in tests:
        test(server)
        print("ok", test.__name__, flush=True)
