package gemini

import (
	"time"

	"github.com/redis/go-redis/v9"

	"nightshift/limiter"
)

// ReusedRows are rows of a run that took a good result which was there already: calls
// that were not made.
type ReusedRows struct {
	Lane           limiter.Lane
	Class, Feature string
	Tenant         string
	Rows           int64
}

// CountReused counts them where a Meter counts calls.
func CountReused(rdb redis.UniversalClient, scope limiter.Scope, process string, u ReusedRows) error {
	if u.Rows == 0 {
		return nil
	}
	m := NewMeter(rdb, scope, MeterOptions{Process: process})
	r := Record{Lane: u.Lane.String(), Class: u.Class, Feature: u.Feature, Path: limiter.Path{Tenant: u.Tenant}}
	m.mu.Lock()
	now := time.Now()
	key := m.names.key(r, now)
	m.cell(cellKey{now.Unix(), byFeature, key}).ReusedRows += u.Rows
	if u.Tenant != "" {
		key.feature = label(u.Tenant, 64)
		m.cell(cellKey{now.Unix(), byTenant, key}).ReusedRows += u.Rows
	}
	m.mu.Unlock()
	return m.Close()
}
