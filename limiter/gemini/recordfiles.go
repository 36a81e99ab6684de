package gemini

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

type recordFile struct {
	name string
	hour time.Time
	size int64
}

// recordFiles lists a folder's record files, oldest first.
func recordFiles(dir string) []recordFile {
	names, _ := filepath.Glob(filepath.Join(dir, "calls-*.jsonl"))
	var out []recordFile
	for _, name := range names {
		stamp, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(name), "calls-"), "-")
		hour, err := time.Parse("20060102T15", stamp)
		info, errStat := os.Stat(name)
		if err == nil && errStat == nil {
			out = append(out, recordFile{name, hour, info.Size()})
		}
	}
	slices.SortFunc(out, func(a, b recordFile) int { return cmp.Or(a.hour.Compare(b.hour), cmp.Compare(a.name, b.name)) })
	return out
}

// ReadRecords gives the folder's records from since on, file by file, oldest
// hour first. A line that a kill left torn is skipped. It stops at fn's error.
func ReadRecords(dir string, since time.Time, fn func(Record) error) error {
	for _, f := range recordFiles(dir) {
		if f.hour.Add(time.Hour).Before(since) {
			continue
		}
		if err := readRecordFile(f.name, since, fn); err != nil {
			return err
		}
	}
	return nil
}

func readRecordFile(name string, since time.Time, fn func(Record) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var rec Record
		if json.Unmarshal(lines.Bytes(), &rec) != nil || rec.Time.Before(since) {
			continue
		}
		if err := fn(rec); err != nil {
			return err
		}
	}
	return lines.Err()
}
