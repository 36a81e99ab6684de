package cli

import (
	"context"
	"slices"
	"strings"

	"nightshift/cmd/internal/dashboard"
	"nightshift/limiter"
)

// dashboardRecord keeps what somebody did on the dashboard, or was refused there.
func (b *backend) dashboardRecord(ctx context.Context, e dashboard.AuditEntry) error {
	data := map[string]string{}
	for name, value := range map[string]string{"from": e.From, "role": string(e.Role), "before": e.Before, "after": e.After, "result": e.Result} {
		if value != "" {
			data[name] = value
		}
	}
	return b.lim.NoteAudit(ctx, limiter.Event{Kind: e.What, Subject: e.Target, Text: e.Text, By: e.Who, Data: data})
}

// auditLook is how many entries one page looks through for those that are asked for.
const auditLook = 5000

// dashboardAudit reads a page of it, the latest first.
func (b *backend) dashboardAudit(ctx context.Context, q dashboard.AuditQuery) (v dashboard.AuditView, err error) {
	log, err := b.lim.AuditLog(ctx, q.Before, auditLook)
	if err != nil {
		return v, err
	}
	for _, e := range slices.Backward(log) {
		if !slices.Contains(v.Whats, e.Kind) {
			v.Whats = append(v.Whats, e.Kind)
		}
		entry := auditEntry(e)
		if !auditMatches(entry, q) {
			continue
		}
		if len(v.Entries) == q.Limit {
			v.More = true
			continue
		}
		v.Entries = append(v.Entries, entry)
	}
	slices.Sort(v.Whats)
	return v, nil
}

func auditEntry(e limiter.Event) dashboard.AuditEntry {
	return dashboard.AuditEntry{
		At: e.At, Who: e.By, What: e.Kind, Target: e.Subject, Text: e.Text, Role: dashboard.Role(e.Data["role"]),
		From: e.Data["from"], Before: e.Data["before"], After: e.Data["after"], Result: e.Data["result"],
	}
}

func auditMatches(e dashboard.AuditEntry, q dashboard.AuditQuery) bool {
	holds := func(text, part string) bool { return strings.Contains(strings.ToLower(text), strings.ToLower(part)) }
	return holds(e.Who, q.Who) && (q.What == "" || e.What == q.What) && (q.Result == "" || e.Result == q.Result) &&
		holds(strings.Join([]string{e.Who, e.From, e.What, e.Target, e.Before, e.After, e.Text}, " "), q.Text)
}
