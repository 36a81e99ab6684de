package jobs

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// The files of a run's rows are in one hash, each content once:
// "p"+path → digest (32 bytes) and MIME type, "d"+digest → content.

// ErrNoFile says that a row's file is not kept (any more).
var ErrNoFile = errors.New("no such file is kept with the run")

// File tells what the file of this path was when the run's rows were enqueued. Its
// content comes with FileContent.
func (s *Store) File(ctx context.Context, run, path string) (Attachment, error) {
	v, err := s.rdb.HGet(ctx, fileKey(run), "p"+path).Result()
	switch {
	case errors.Is(err, redis.Nil):
		return Attachment{}, fmt.Errorf("%.200q: %w", path, ErrNoFile)
	case err != nil:
		return Attachment{}, err
	case len(v) < 32:
		return Attachment{}, fmt.Errorf("%.200q: its record cannot be read", path)
	}
	return Attachment{Path: path, Digest: hex.EncodeToString([]byte(v[:32])), MIME: v[32:]}, nil
}

// FileContent gives the content of that digest.
func (s *Store) FileContent(ctx context.Context, run, digest string) ([]byte, error) {
	b, err := s.rdb.HGet(ctx, fileKey(run), "d"+raw(digest)).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("content %s: %w", digest, ErrNoFile)
	}
	return b, err
}

// keepFile stores a file, unless it is there: its content is read only when it has
// to be.
func (s *Store) keepFile(ctx context.Context, run string, a *Attachment, read func(*Attachment) ([]byte, error)) error {
	record, content := raw(a.Digest)+a.MIME, "d"+raw(a.Digest)
	p := s.rdb.Pipeline()
	was, has := p.HGet(ctx, fileKey(run), "p"+a.Path), p.HExists(ctx, fileKey(run), content)
	if _, err := p.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	set := []any{"p" + a.Path, record}
	if !has.Val() {
		b, err := read(a)
		if err != nil {
			return err
		}
		set = append(set, content, b)
	} else if was.Val() == record {
		return nil
	}
	return s.rdb.HSet(ctx, fileKey(run), set...).Err()
}

// DropFiles forgets the contents of the files of a run of which every row has a good
// result: none will be asked for again. A run with failed rows keeps them for a retry.
func (s *Store) DropFiles(ctx context.Context, run string) error {
	return dropFilesScript.Run(ctx, s.rdb, []string{countKey(run), fileKey(run)}, int(Done), int(Cached)).Err()
}

// changedFiles tells, for each list of files, the path of the first that was another
// when the run was made; "" where none was. One round trip.
func (s *Store) changedFiles(ctx context.Context, run string, rows [][]Attachment) ([]string, error) {
	var fields []string
	for _, files := range rows {
		for _, f := range files {
			fields = append(fields, "p"+f.Path)
		}
	}
	out := make([]string, len(rows))
	if len(fields) == 0 {
		return out, nil
	}
	records, err := s.rdb.HMGet(ctx, fileKey(run), fields...).Result()
	if err != nil {
		return out, err
	}
	for i, files := range rows {
		for _, f := range files {
			was, _ := records[0].(string)
			records = records[1:]
			if out[i] == "" && len(was) >= 32 && was[:32] != raw(f.Digest) {
				out[i] = f.Path
			}
		}
	}
	return out, nil
}

// raw is a digest's bytes; "" for what is none.
func raw(digest string) string {
	b, err := hex.DecodeString(strings.TrimSpace(digest))
	if err != nil {
		return ""
	}
	return string(b)
}
