"""stub"""
class Pool:
    def __init__(self, workers=1, cluster=None):
        self.workers = workers
        self.ready = True
    def __enter__(self): return self
    def __exit__(self, *_): pass
    def warm(self): pass
    def run(self, work, tasks, deadline, done=None):
        results = []
        for i, task in enumerate(tasks):
            if deadline.expired:
                results.append(None); continue
            r = work(task, deadline)
            results.append(r)
            if done: done(i, r)
        return results
