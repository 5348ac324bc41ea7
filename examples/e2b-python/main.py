"""A program for E2B's Python client, with nothing in it that knows where it runs."""
from e2b import Sandbox

sandbox = Sandbox.create(metadata={"example": "e2b-python"})
print("sandbox", sandbox.sandbox_id)
try:
    sandbox.files.write("hello.py", 'print("hello from inside")\n')
    print(sandbox.commands.run("python3 hello.py").stdout.strip())

    server = sandbox.commands.run("python3 -u -m http.server 8000", background=True, timeout=0)
    print("server has pid", server.pid)
    server.kill()

    print("files:", ", ".join(entry.name for entry in sandbox.files.list(".")))
finally:
    sandbox.kill()
