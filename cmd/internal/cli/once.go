package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// onceValue is the value of a flag that takes one: given again with another, nobody
// can tell which was meant.
type onceValue struct {
	pflag.Value
	given bool
}

// Set takes a value, and the same again.
func (v *onceValue) Set(text string) error {
	was := v.String()
	if err := v.Value.Set(text); err != nil {
		return err
	}
	if now := v.String(); v.given && now != was {
		return fmt.Errorf("it was given as %s before: give it once", was)
	}
	v.given = true
	return nil
}

// onlyOnce makes the flags of a command, and of those below it, refuse a second
// value. Lists take as many as there are.
func onlyOnce(cmd *cobra.Command) {
	for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		set.VisitAll(func(fl *pflag.Flag) {
			if _, list := fl.Value.(pflag.SliceValue); list {
				return
			}
			if _, done := fl.Value.(*onceValue); done {
				return
			}
			if fl.DefValue == "0s" { // help knows zeros by the library's own types
				fl.DefValue = "0"
			}
			fl.Value = &onceValue{Value: fl.Value}
		})
	}
	for _, sub := range cmd.Commands() {
		onlyOnce(sub)
	}
}
