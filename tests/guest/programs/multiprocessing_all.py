"""What programs do with multiprocessing and concurrent.futures. The output is the same on every system."""
import ctypes
import multiprocessing as mp
import os
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from multiprocessing import shared_memory


def square(x):
    return x * x


def put(queue, lock, value, array, number):
    with lock:
        value.value += number
        array[number] = number * number
    queue.put((number, os.getpid() != 100))


def ping(connection):
    while (message := connection.recv()) != "stop":
        connection.send(message + 1)
    connection.close()


def fail(_):
    raise ValueError("as told")


def fill(name, size):
    area = shared_memory.SharedMemory(name=name)
    for i in range(size):
        area.buf[i] = i % 251
    area.close()


def wait_and_set(event, barrier, result):
    barrier.wait()
    event.wait()
    with result.get_lock():
        result.value += 1


def main():
    with mp.Pool(3) as pool:
        print("map", pool.map(square, range(10)))
        print("imap", sorted(pool.imap_unordered(square, range(5), chunksize=2)))
        print("apply", pool.apply_async(square, (12,)).get(60))
        print("starmap", pool.starmap(max, [(1, 2), (4, 3)]))
        try:
            pool.map(fail, [1])
        except ValueError as error:
            print("raised", error)

    queue, lock = mp.Queue(), mp.Lock()
    value, array = mp.Value("i", 0), mp.Array(ctypes.c_long, 5)
    children = [mp.Process(target=put, args=(queue, lock, value, array, n)) for n in range(5)]
    for child in children:
        child.start()
    print("queue", sorted(queue.get(timeout=60)[0] for _ in children))
    for child in children:
        child.join()
    print("shared", value.value, list(array), [child.exitcode for child in children])

    here, there = mp.Pipe()
    child = mp.Process(target=ping, args=(there,))
    child.start()
    here.send(1)
    for _ in range(5):
        here.send(here.recv())
    print("pipe", here.recv())
    here.send("stop")
    child.join()

    area = shared_memory.SharedMemory(create=True, size=10000)
    child = mp.Process(target=fill, args=(area.name, 10000))
    child.start()
    child.join()
    print("area", sum(area.buf[:10000]), area.buf[9999])
    area.close()
    area.unlink()

    event, barrier, result = mp.Event(), mp.Barrier(4), mp.Value("i", 0)
    children = [mp.Process(target=wait_and_set, args=(event, barrier, result)) for _ in range(3)]
    for child in children:
        child.start()
    barrier.wait()
    event.set()
    for child in children:
        child.join()
    print("event", result.value)

    semaphore = mp.BoundedSemaphore(2)
    print("semaphore", semaphore.acquire(), semaphore.acquire(), semaphore.acquire(timeout=0.01))

    with ProcessPoolExecutor(2) as executor:
        print("executor", list(executor.map(square, range(6))))
        futures = [executor.submit(pow, 2, n) for n in range(4)]
        print("completed", sorted(f.result() for f in as_completed(futures)))
        print("error", type(executor.submit(fail, 1).exception()).__name__)
    with ThreadPoolExecutor(4) as executor:
        print("threads", sum(executor.map(square, range(100))))


if __name__ == "__main__":
    mp.set_start_method("fork")
    main()
    sys.stdout.flush()
