package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
)

//go:embed assets
var assetFiles embed.FS

// assetMarks are what tells one version of a file from another, by its path.
var assetMarks = markAssets()

func markAssets() map[string]string {
	out := map[string]string{}
	_ = fs.WalkDir(assetFiles, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		b, err := assetFiles.ReadFile(path)
		sum := sha256.Sum256(b)
		out["/"+path] = hex.EncodeToString(sum[:6])
		return err
	})
	return out
}

// assetPath is where a page finds a file of ours: another place for each version,
// so that it may be kept for good.
func assetPath(name string) string {
	path := "/assets/" + name
	return path + "?v=" + assetMarks[path]
}

func assetHandler() http.Handler {
	files := http.FileServerFS(assetFiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "private, max-age=300")
		if mark := r.FormValue("v"); mark != "" && mark == assetMarks[r.URL.Path] {
			w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
		}
		files.ServeHTTP(w, r)
	})
}
