# Processes of Python: the output is the same on every host.
import os
import subprocess
import sys

child = "import sys; text = sys.stdin.read(); print(len(text), sys.argv[1]); sys.exit(3)"
command = [sys.executable, "-S", "-c", child, "argument"]
done = subprocess.run(command, input="x" * 100000, capture_output=True, text=True)
print(done.returncode, repr(done.stdout), repr(done.stderr))
try:
    subprocess.run(["/no/such/program"])
except FileNotFoundError as error:
    print(error.errno)
with subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) as process:
    print(process.poll())
    process.kill()
    print(process.wait())

reader, writer = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(writer, b"from the child")
    os._exit(7)
print(os.read(reader, 100), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
print(subprocess.check_output([sys.executable, "-S", "-c", "import os; print(os.environ['WORD'])"], env={"WORD": "w"}))
