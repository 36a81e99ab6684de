package gemini

import (
	"testing"
	"time"

	"nightshift/limiter"
)

// TestReusedRowsAreCounted by feature and by tenant.
func TestReusedRowsAreCounted(t *testing.T) {
	t.Parallel()
	rdb, scope := dialReal(t), meterScope()
	lane := limiter.Lane{Provider: scope.Provider, Project: scope.Project, Model: "gemini-x"}
	if err := CountReused(rdb, scope, "enqueue", ReusedRows{Lane: lane, Class: "bulk", Feature: "tags", Tenant: "acme", Rows: 7}); err != nil {
		t.Fatal(err)
	}
	for _, by := range []GroupBy{GroupFeature, GroupTenant} {
		d, err := NewHistory(rdb, scope).Read(t.Context(), HistoryQuery{From: time.Now().Add(-time.Minute), To: time.Now().Add(time.Minute), By: by})
		if err != nil || d.Total.Sum.ReusedRows != 7 {
			t.Errorf("by %s: %+v, %v", by, d, err)
		}
		if name := map[GroupBy]string{GroupFeature: "tags", GroupTenant: "acme"}[by]; len(d.Groups) == 0 || d.Groups[0].Sum.ReusedRows != 7 && d.Groups[0].Name != name {
			t.Errorf("by %s: %+v", by, d.Groups)
		}
	}
}
