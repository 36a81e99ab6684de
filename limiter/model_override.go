package limiter

import "context"

// Set is Redis.Set on the Model's clock.
func (m *Model) Set(ctx context.Context, overrides ...Override) error {
	return m.Override(ctx, Change{Set: overrides})
}

// Unset is Redis.Unset on the Model's clock.
func (m *Model) Unset(ctx context.Context, node, name string) error {
	return m.Override(ctx, Change{Unset: []Override{{Node: node, Name: name}}})
}

// Overrides is Redis.Overrides.
func (m *Model) Overrides(context.Context) ([]Override, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings.overrides, nil
}

// Configured is Redis.Configured.
func (m *Model) Configured(context.Context) (Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings.file, nil
}

// Effective is Redis.Effective.
func (m *Model) Effective(context.Context) (Config, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.config, nil
}

// Try is Redis.Try.
func (m *Model) Try(_ context.Context, ch Change) (now, then Config, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, err := m.settings.changed(ch, m.now)
	return m.config, next.effective, err
}

// Override is Redis.Override on the Model's clock.
func (m *Model) Override(_ context.Context, ch Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	next, err := m.settings.changed(ch, m.now)
	if err != nil {
		return err
	}
	before := m.config
	m.enforce(next)
	m.noteAll(overridden(before, next.effective, ch))
	return nil
}
