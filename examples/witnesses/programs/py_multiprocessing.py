"""multiprocessing: a pool, a queue, a shared value."""
import multiprocessing


def square(n):
    return n * n


def add(value, queue, n):
    with value.get_lock():
        value.value += n
    queue.put(n)


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    with multiprocessing.Pool(2) as pool:
        print(pool.map(square, range(10)))
    value, queue = multiprocessing.Value("i", 0), multiprocessing.Queue()
    processes = [multiprocessing.Process(target=add, args=(value, queue, n)) for n in range(3)]
    [process.start() for process in processes]
    got = sorted(queue.get() for _ in processes)
    [process.join() for process in processes]
    print(value.value, got)
