"""subprocess, os.fork, pipes, signals."""
import os
import signal
import subprocess
import sys

run = subprocess.run([sys.executable, "-S", "-c", "import sys; print(sys.stdin.read()[::-1]); sys.exit(3)"], input="abc", capture_output=True, text=True)
print(run.returncode, run.stdout, run.stderr)
reader, writer = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(writer, b"from the child")
    os._exit(7)
os.close(writer)
print(os.read(reader, 100), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
caught = []
signal.signal(signal.SIGUSR1, lambda number, frame: caught.append(number))
os.kill(os.getpid(), signal.SIGUSR1)
print(caught == [signal.SIGUSR1])
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(100)"])
child.terminate()
print(child.wait())
