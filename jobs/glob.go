package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ExpandPaths gives the files that the arguments of a command name: patterns
// ("in/*.jsonl", for shells that leave them alone) become the files that they match,
// sorted; a file that is named twice counts once, where it came first. A pattern that
// matches nothing is an *InputError.
func ExpandPaths(args []string) ([]string, error) {
	var out []string
	named := map[string]bool{}
	bad := &problems{}
	for _, arg := range args {
		found, p := expand(arg)
		if p != nil {
			bad.list.Total++
			bad.list.Problems = append(bad.list.Problems, *p)
		}
		for _, path := range found {
			if !named[filepath.Clean(path)] {
				named[filepath.Clean(path)] = true
				out = append(out, path)
			}
		}
	}
	return out, bad.err()
}

// expand leaves alone what is no pattern, or is the name of a file as it stands.
func expand(arg string) ([]string, *Problem) {
	if !strings.ContainsAny(arg, "*?[") {
		return []string{arg}, nil
	}
	if _, err := os.Lstat(arg); err == nil {
		return []string{arg}, nil
	}
	if strings.Contains(arg, "**") {
		return nil, &Problem{File: arg, What: "** is no pattern here", Remedy: "name the folders (in/*/*.jsonl), or let the shell find the files"}
	}
	found, err := filepath.Glob(arg)
	if err != nil {
		return nil, &Problem{File: arg, What: "the pattern cannot be read", Remedy: `a [ needs its ]; write \[ for the character itself`}
	}
	found = slices.DeleteFunc(found, func(path string) bool { return hidden(arg, path) || isFolder(path) })
	if len(found) == 0 {
		return nil, &Problem{File: arg, What: "no file matches", Remedy: "check the folder and the ending; patterns are read relative to the folder you are in"}
	}
	return found, nil
}

// hidden says that a file is one that shells leave out too.
func hidden(pattern, path string) bool {
	return strings.HasPrefix(filepath.Base(path), ".") && !strings.HasPrefix(filepath.Base(pattern), ".")
}

func isFolder(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// folderPattern is a pattern for files of a folder, by the first one that may be an
// input.
func folderPattern(dir string) string {
	entries, _ := os.ReadDir(dir) // one that cannot be read gets the usual ending
	for _, e := range entries {
		s := source{path: e.Name()}
		if !e.IsDir() && s.format() != "" {
			return "'" + filepath.Join(dir, "*"+endings(e.Name())) + "'"
		}
	}
	return "'" + filepath.Join(dir, "*.jsonl") + "'"
}

// endings is a name's ending, with that of its compression.
func endings(name string) string {
	last := filepath.Ext(name)
	switch strings.ToLower(last) {
	case ".gz", ".gzip", ".zst", ".zstd":
		return filepath.Ext(strings.TrimSuffix(name, last)) + last
	}
	return last
}
