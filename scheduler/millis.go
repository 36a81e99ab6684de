package scheduler

import (
	"encoding/json"
	"fmt"
	"time"
)

// Millis is a duration that is written as whole milliseconds: in JSON that people's
// programs read, a number without a unit would be nanoseconds.
type Millis time.Duration

// Duration is the same as a time.Duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) }

// MarshalJSON writes milliseconds.
func (m Millis) MarshalJSON() ([]byte, error) { return json.Marshal(m.Duration().Milliseconds()) }

// UnmarshalJSON reads milliseconds.
func (m *Millis) UnmarshalJSON(b []byte) error {
	var ms int64
	err := json.Unmarshal(b, &ms)
	*m = Millis(time.Duration(ms) * time.Millisecond)
	return err
}

func (m Millis) String() string { return fmt.Sprintf("%.1f s", m.Duration().Seconds()) }
