# SPDX-License-Identifier: Apache-2.0
"""Programs that use threads in every usual way; each prints the same whatever the schedule."""

# modules beside the program, one made before the hunt and one loaded by its threads
MODULES = {
    "shared_locks": """
        import threading
        n = 0
        lock = threading.Lock()
        again = threading.RLock()
        condition = threading.Condition()
    """,
    "late_module": "value = sum(range(10))",
}
PROGRAMS = {
    "executor_map": """
        from concurrent.futures import ThreadPoolExecutor
        with ThreadPoolExecutor(3) as pool:
            print(list(pool.map(lambda n: n * n, range(7))))
    """,
    "executor_submit": """
        from concurrent.futures import ThreadPoolExecutor, as_completed, wait
        def work(n):
            if n == 3:
                raise ValueError(n)
            return n
        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(work, n) for n in range(5)]
            done, left = wait(futures)
            print(len(done), len(left), repr(futures[3].exception()))
            print(sorted(f.result() for f in as_completed(futures) if not f.exception()))
    """,
    "executor_nested": """
        from concurrent.futures import ThreadPoolExecutor
        def inner(n):
            return n + 1
        def outer(n):
            with ThreadPoolExecutor(2) as pool:
                return sum(pool.map(inner, range(n)))
        with ThreadPoolExecutor(2) as pool:
            print(list(pool.map(outer, [1, 2, 3])))
    """,
    "executor_left_open": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(2, initializer=len, initargs=('x',))
        future = pool.submit(pow, 2, 5)
        future.add_done_callback(lambda f: None)
        print(future.result(timeout=5))
    """,
    "subclass": """
        import threading
        class Worker(threading.Thread):
            def __init__(self, n):
                super().__init__(name=f'worker {n}')
                self.n = n
            def run(self):
                self.result = (self.name, threading.current_thread() is self)
        workers = [Worker(n) for n in range(3)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
            print(worker.result, worker.is_alive(), worker.ident is not None)
    """,
    "daemons_left_behind": """
        import threading, time
        box = {}
        def spin():
            while True:
                time.sleep(0.01)
                box['n'] = box.get('n', 0) + 1
        def stuck():
            threading.Event().wait()
        def blocked():
            lock = threading.Lock()
            lock.acquire()
            lock.acquire()
        for target in (spin, stuck, blocked):
            threading.Thread(target=target, daemon=True).start()
        worker = threading.Thread(target=time.sleep, args=(0.05,))
        worker.start()
        worker.join()
        print('done', threading.active_count())
    """,
    "non_daemon_not_joined": """
        import threading
        said = threading.Event()
        def work():
            said.wait()
            print('last')
        threading.Thread(target=work).start()
        print('first')
        said.set()
    """,
    "started_by_threads": """
        import threading
        found = []
        def work(depth):
            if depth:
                children = [threading.Thread(target=work, args=(depth - 1,)) for _ in range(2)]
                for child in children:
                    child.start()
                for child in children:
                    child.join()
            found.append(depth)
        work(2)
        print(sorted(found))
    """,
    "low_level_thread": """
        import _thread
        done = _thread.allocate_lock()
        done.acquire()
        def work(*args, **kwargs):
            print(args, kwargs)
            done.release()
        _thread.start_new_thread(work, (1, 2), {'three': 3})
        done.acquire()
        print(done.locked())
    """,
    "local": """
        import threading
        local = threading.local()
        class Mine(threading.local):
            def __init__(self, start):
                self.n = start
        mine = Mine(10)
        results = {}
        def work(n):
            assert not hasattr(local, 'n')
            local.n = n
            for _ in range(3):
                mine.n += n
            results[n] = (local.n, mine.n)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(sorted(results.items()), mine.n)
    """,
    "generators": """
        import threading
        def numbers(box):
            for n in range(4):
                box.append(n)
                yield n
            return 'end'
        def outer(box):
            result = yield from numbers(box)
            yield result
        out = {}
        def work(n, generator):
            out[n] = list(generator) + [x * 2 for x in (y for y in range(3))]
        boxes = [[], []]
        threads = [threading.Thread(target=work, args=(n, outer(boxes[n]))) for n in range(2)]
        shared = iter([1, 2, 3])
        threads.append(threading.Thread(target=work, args=(2, shared)))
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(sorted(out.items()), boxes)
    """,
    "asyncio": """
        import asyncio, threading
        class Manager:
            async def __aenter__(self):
                await asyncio.sleep(0)
                return self
            async def __aexit__(self, *args):
                return False
        async def numbers():
            for n in range(3):
                yield n
        async def double(n):
            await asyncio.sleep(0.01)
            return n * 2
        async def main(n):
            async with Manager(), asyncio.timeout(5):
                found = [x async for x in numbers()]
                found += await asyncio.gather(*(double(k) for k in range(n)))
                found.append(await asyncio.to_thread(len, found))
                return found
        out = {}
        def work(n):
            out[n] = asyncio.run(main(n))
        threads = [threading.Thread(target=work, args=(n,)) for n in (1, 2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(sorted(out.items()))
    """,
    "locks_of_modules": """
        import threading
        import shared_locks
        from shared_locks import lock, again, condition
        def work():
            for _ in range(3):
                with lock, again, again:
                    shared_locks.n += 1
            with condition:
                condition.notify()
        threads = [threading.Thread(target=work) for _ in range(2)]
        with condition:
            for t in threads:
                t.start()
            print(condition.wait(timeout=5))
        for t in threads:
            t.join()
        print(shared_locks.n, lock.locked())
    """,
    "rlock": """
        import threading
        lock = threading.RLock()
        n = 0
        def deep(level):
            global n
            with lock:
                n += 1
                if level:
                    deep(level - 1)
        threads = [threading.Thread(target=deep, args=(3,)) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        try:
            lock.release()
        except RuntimeError as error:
            print(n, error)
    """,
    "lock_timeouts": """
        import threading
        lock = threading.Lock()
        go, end = threading.Event(), threading.Event()
        def hold():
            with lock:
                go.set()
                end.wait()
        t = threading.Thread(target=hold)
        t.start()
        go.wait()
        print(lock.acquire(False), lock.acquire(timeout=0.05), lock.acquire(True, 0.01))
        end.set()
        print(lock.acquire(timeout=60))
        t.join()
    """,
    "condition": """
        import threading
        condition = threading.Condition()
        items, seen = [], []
        def consume():
            for _ in range(3):
                with condition:
                    condition.wait_for(lambda: items)
                    seen.append(items.pop(0))
        def produce():
            for n in range(3):
                with condition:
                    items.append(n)
                    condition.notify_all()
        threads = [threading.Thread(target=f) for f in (consume, produce)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        with condition:
            print(seen, condition.wait(timeout=0.02), condition.wait_for(lambda: False, 0.02))
    """,
    "event": """
        import threading
        event, answer = threading.Event(), threading.Event()
        def work():
            print(event.wait(timeout=0.01), event.is_set())
            answer.set()
            print(event.wait(timeout=60))
        t = threading.Thread(target=work)
        t.start()
        answer.wait()
        event.set()
        t.join(timeout=60)
        print(t.is_alive())
    """,
    "join_times_out": """
        import threading
        event = threading.Event()
        t = threading.Thread(target=event.wait)
        t.start()
        t.join(timeout=0.05)
        print(t.is_alive())
        event.set()
        t.join()
        print(t.is_alive())
    """,
    "semaphore": """
        import threading
        semaphore, bounded = threading.Semaphore(2), threading.BoundedSemaphore(1)
        inside = most = 0
        guard = threading.Lock()
        def work():
            global inside, most
            with semaphore:
                with guard:
                    inside += 1
                    most = max(most, inside)
                with bounded:
                    pass
                with guard:
                    inside -= 1
        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(most <= 2, semaphore.acquire(timeout=1), semaphore.acquire(False))
        print(semaphore.acquire(timeout=0.02))
        try:
            bounded.release()
        except ValueError as error:
            print(error)
    """,
    "barrier": """
        import threading
        barrier = threading.Barrier(3, action=lambda: order.append('all'))
        order = []
        def work():
            order.append('in')
            barrier.wait()
            order.append('out')
            barrier.wait(timeout=30)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(order)
        try:
            barrier.wait(timeout=0.02)
        except threading.BrokenBarrierError:
            print('broken', barrier.broken)
    """,
    "timer": """
        import threading
        fired = threading.Event()
        timer = threading.Timer(0.05, fired.set)
        never = threading.Timer(3600, print, ['never'])
        timer.start()
        never.start()
        print(fired.wait(30))
        never.cancel()
        never.join()
        print(never.finished.is_set())
    """,
    "queues": """
        import queue, threading
        def feed(q):
            for n in range(4):
                q.put((-n, n))
        for kind in (queue.Queue, queue.LifoQueue, queue.PriorityQueue, queue.SimpleQueue):
            q = kind()
            t = threading.Thread(target=feed, args=(q,))
            t.start()
            print(kind.__name__.strip('_Py'), sorted(q.get(timeout=30) for _ in range(4)))
            t.join()
            try:
                q.get(timeout=0.02)
            except queue.Empty:
                print('empty', q.empty(), q.qsize())
    """,
    "bounded_queue": """
        import queue, threading
        q = queue.Queue(maxsize=1)
        seen = []
        def consume():
            while (item := q.get()) is not None:
                seen.append(item)
                q.task_done()
            q.task_done()
        t = threading.Thread(target=consume)
        t.start()
        for n in range(4):
            q.put(n)
        q.put(None)
        q.join()
        t.join()
        q.put('full')
        try:
            q.put('more', timeout=0.02)
        except queue.Full:
            print(seen)
        try:
            q.put_nowait('more')
        except queue.Full:
            print(q.full())
    """,
    "real_input": """
        import os, threading
        reader, writer = os.pipe()
        got = []
        def read():
            with open(reader, 'rb') as file:
                got.extend(file)
        t = threading.Thread(target=read)
        t.start()
        with open(writer, 'wb') as file:
            for n in range(3):
                file.write(b'%d\\n' % n)
                file.flush()
        t.join()
        print(got)
    """,
    "sockets": """
        import select, socket, threading
        left, right = socket.socketpair()
        def echo():
            while data := right.recv(10):
                right.sendall(data.upper())
            right.close()
        t = threading.Thread(target=echo)
        t.start()
        for word in (b'one', b'two'):
            left.sendall(word)
            select.select([left], [], [])
            print(left.recv(10))
        left.shutdown(socket.SHUT_WR)
        t.join()
        left.close()
    """,
    "subprocess": """
        import subprocess, threading
        out = {}
        def work(n):
            command = ['sh', '-c', f'echo {n}; exit {n}']
            done = subprocess.run(command, capture_output=True, text=True)
            out[n] = (done.returncode, done.stdout, done.stderr)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(sorted(out.items()))
    """,
    "subprocess_with_time_limit": """
        import subprocess, threading
        out = {}
        def work(n):
            done = subprocess.run(['sh', '-c', f'sleep 0.0{n}'], timeout=60)
            out[n] = done.returncode
        threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(sorted(out.items()))
    """,
    "real_input_with_time_limit": """
        import subprocess, threading
        got = []
        answered = threading.Event()
        def ask():
            pipe = subprocess.Popen(['sh', '-c', 'sleep 0.05; echo yes'], stdout=subprocess.PIPE)
            got.append(pipe.stdout.read())
            pipe.wait()
            answered.set()
        t = threading.Thread(target=ask)
        t.start()
        print(answered.wait(timeout=60), got)
        t.join(timeout=60)
        print(t.is_alive())
    """,
    "real_work_with_time_limit": """
        import hashlib, threading
        done = threading.Event()
        def work():
            hashlib.pbkdf2_hmac('sha256', b'x', b'y', 20000)
            done.set()
        t = threading.Thread(target=work)
        t.start()
        print(done.wait(timeout=60))
        t.join()
    """,
    "logging": """
        import io, logging, threading
        stream = io.StringIO()
        logging.basicConfig(stream=stream, level='INFO', format='%(threadName)s %(message)s')
        def work():
            for n in range(3):
                logging.getLogger('app.work').info('line %d', n)
        threads = [threading.Thread(target=work, name=f't{n}') for n in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        lines = stream.getvalue().splitlines()
        for n in range(3):
            print([line for line in lines if line.startswith(f't{n}')])
    """,
    "caught_exceptions": """
        import threading
        found = []
        def work(n):
            try:
                try:
                    {}[n]
                except KeyError as error:
                    raise ValueError(n) from error
                finally:
                    found.append('finally')
            except* ValueError as group:
                found.append(repr(group.exceptions[0].__cause__))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(sorted(found))
    """,
    "exit_in_thread": """
        import sys, threading
        def work():
            try:
                sys.exit(3)
            finally:
                print('leaving')
        t = threading.Thread(target=work)
        t.start()
        t.join()
        print('still here')
    """,
    "imports_in_threads": """
        import threading
        out = []
        def work():
            import colorsys, shared_locks, late_module
            out.append((late_module.value, colorsys.rgb_to_hsv(0, 0, 0)))
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(out)
    """,
    "finalizers": """
        import gc, threading, weakref
        gone = []
        lock = threading.Lock()
        class Node:
            def __init__(self):
                self.other = self
            def __del__(self):
                with lock:
                    gone.append(1)
        def work():
            for _ in range(5):
                node = Node()
                weakref.finalize(node, gone.append, 2)
            del node
            gc.collect()
        threads = [threading.Thread(target=work) for _ in range(2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        gc.collect()
        print(sorted(gone))
    """,
    "cached": """
        import functools, threading
        class Box:
            @functools.cached_property
            def value(self):
                return 7
        @functools.lru_cache
        def square(n):
            return n * n
        box, out = Box(), []
        def work():
            out.append((box.value, square(4)))
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(out)
    """,
    "context_variables": """
        import contextvars, threading
        name = contextvars.ContextVar('name', default='none')
        out = []
        def work(n):
            name.set(n)
            out.append((n, name.get(), contextvars.copy_context()[name]))
        threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        print(sorted(out), name.get())
    """,
    "until_the_main_thread_ends": """
        import threading, time
        main = threading.main_thread()
        def serve():
            while main.is_alive():
                time.sleep(0.01)
            print('the last one')
        print('started', main.is_alive())
        threading.Thread(target=serve).start()
    """,
    "waits_for_the_main_thread": """
        import threading
        main = threading.main_thread()
        def wait():
            main.join()
            print('after', main.name, main.is_alive())
        threading.Thread(target=wait).start()
    """,
}
