package worker

import (
	"container/list"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"nightshift/jobs"
)

// fileCache keeps the contents of rows' files that were used last: a row is looked
// at several times until its call goes out, and rows share files.
type fileCache struct {
	most int64 // bytes

	mu    sync.Mutex
	bytes int64
	used  list.List // of *keptFile, the last used first
	by    map[string]*list.Element
}

type keptFile struct {
	digest  string
	content []byte
}

// filesKept bounds the memory for files, beside those of calls in flight.
const filesKept = 128 << 20

func newFileCache(most int64) *fileCache {
	return &fileCache{most: most, by: map[string]*list.Element{}}
}

func (c *fileCache) get(digest string) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.by[digest]
	if e == nil {
		return nil
	}
	c.used.MoveToFront(e)
	return e.Value.(*keptFile).content
}

func (c *fileCache) put(digest string, content []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by[digest] != nil || int64(len(content)) > c.most {
		return
	}
	c.by[digest] = c.used.PushFront(&keptFile{digest, content})
	c.bytes += int64(len(content))
	for c.bytes > c.most {
		last := c.used.Remove(c.used.Back()).(*keptFile)
		delete(c.by, last.digest)
		c.bytes -= int64(len(last.content))
	}
}

// filesOf finds a run's files with their contents.
func (w *Worker) filesOf(ctx context.Context, run string) func(string) (jobs.Attachment, error) {
	return func(path string) (jobs.Attachment, error) {
		a, err := w.cfg.Store.File(ctx, run, path)
		if err != nil {
			return a, err
		}
		if a.Data = w.files.get(a.Digest); a.Data == nil {
			if a.Data, err = w.cfg.Store.FileContent(ctx, run, a.Digest); err != nil {
				return a, err
			}
			w.files.put(a.Digest, a.Data)
		}
		a.Size = int64(len(a.Data))
		return a, nil
	}
}

// noFile ends a row whose file is gone or cannot be read; one whose file could not
// be asked for waits.
func (l *lane) noFile(err error) outcome {
	var p *jobs.Problem
	switch {
	case errors.As(err, &p):
		return cannot("file", err)
	case errors.Is(err, jobs.ErrNoFile):
		return cannot("file", errors.New(err.Error()+": enqueue the input again"))
	}
	now := l.w.cfg.Now()
	if l.notice.due("redis", now) {
		l.w.cfg.Logger.Warn("Redis does not answer; rows wait", "lane", l.name, "for", "rows' files", "err", err)
	}
	return outcome{wait: 5 * time.Second, why: "waiting for Redis"}
}

// dropFiles forgets the run's files when this was the last row that could need any.
func (l *lane) dropFiles(ctx context.Context, j *job, end jobs.State) {
	for f := range j.request.Files() {
		if !end.Good() || strings.HasPrefix(f.Path, "data:") {
			continue
		}
		if err := l.w.cfg.Store.DropFiles(ctx, j.task.Run); err != nil {
			l.w.cfg.Logger.Debug("a finished run's files stay until it is purged", "run", j.task.Run, "err", err)
		}
		return
	}
}
