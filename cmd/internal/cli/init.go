package cli

import (
	"bufio"
	"bytes"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
)

//go:embed scaffold
var scaffold embed.FS

// limitsPage is where AI Studio shows a project's limits.
const limitsPage = "https://aistudio.google.com/rate-limit"

type initOptions struct {
	*factory
	Dir      string
	Model    string
	RPM      int64
	InputTPM int64
	RPD      int64
	Force    bool
	Stdout   bool
}

func newInitCmd(f *factory) *cobra.Command {
	o := &initOptions{factory: f}
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a commented " + configName + ", a template, a schema and three rows",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			o.Dir = "."
			if len(args) == 1 {
				o.Dir = args[0]
			}
			return runInit(o)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&o.Model, "model", "", "the model, as the API names it (asked for when absent)")
	fl.Int64Var(&o.RPM, "rpm", 0, "its requests a minute")
	fl.Int64Var(&o.InputTPM, "input-tpm", 0, "its input tokens a minute")
	fl.Int64Var(&o.RPD, "rpd", -1, "its requests a day; 0 for no such limit")
	fl.BoolVar(&o.Force, "force", false, "replace files that are there")
	fl.BoolVar(&o.Stdout, "stdout", false, "print the configuration instead of writing files")
	return cmd
}

func runInit(o *initOptions) error {
	if o.Stdout {
		o.fill("gemini-3.5-flash", 1000, 1_000_000, 10_000)
		b, err := o.configFile()
		if err == nil {
			_, err = o.Out.Write(b)
		}
		return err
	}
	if err := o.ask(); err != nil {
		return err
	}
	return o.write()
}

// fill takes the example's numbers where none were given.
func (o *initOptions) fill(model string, rpm, tpm, rpd int64) {
	o.Model = orElse(o.Model, model)
	if o.RPM == 0 {
		o.RPM = rpm
	}
	if o.InputTPM == 0 {
		o.InputTPM = tpm
	}
	if o.RPD < 0 {
		o.RPD = rpd
	}
}

// ask completes what no flag gave. There are no defaults to guess from: wrong
// limits are the one mistake that this program cannot make up for.
func (o *initOptions) ask() error {
	in := bufio.NewReader(o.In)
	if err := o.askModel(in); err != nil {
		return err
	}
	if o.RPM == 0 || o.InputTPM == 0 || o.RPD < 0 {
		o.say("Its limits for your project are shown at %s", limitsPage)
	}
	return errors.Join(
		o.askNumber(in, &o.RPM, o.RPM == 0, "Requests a minute (RPM)?", "--rpm", 1),
		o.askNumber(in, &o.InputTPM, o.InputTPM == 0, "Input tokens a minute (TPM)?", "--input-tpm", 1),
		o.askNumber(in, &o.RPD, o.RPD < 0, "Requests a day (RPD)? 0 if there is no such limit", "--rpd", 0),
	)
}

func (o *initOptions) askModel(in *bufio.Reader) error {
	if o.Model != "" {
		if err := nameOK("--model", o.Model); err != nil {
			return usageErrorf("%v", err)
		}
		return nil
	}
	return o.until(in, "Which model? (as the API names it, for example gemini-3.5-flash)", "--model", func(line string) error {
		o.Model = strings.TrimPrefix(line, "models/")
		return nameOK("model", o.Model)
	})
}

func (o *initOptions) askNumber(in *bufio.Reader, at *int64, missing bool, question, flag string, least int64) error {
	if !missing {
		return nil
	}
	return o.until(in, question, flag, func(line string) error {
		n, err := strconv.ParseInt(strings.NewReplacer(",", "", "_", "", " ", "").Replace(line), 10, 64)
		if err != nil || n < least {
			return fmt.Errorf("%q is no whole number of at least %d", line, least)
		}
		*at = n
		return nil
	})
}

// until asks again as long as the answer will not do. Where nobody is left to
// answer, the flag is the way.
func (o *initOptions) until(in *bufio.Reader, question, flag string, take func(string) error) error {
	o.say("%s", question)
	wrong := errors.New("no answer")
	for {
		line, err := in.ReadString('\n')
		switch line = strings.TrimSpace(line); {
		case line != "":
			if wrong = take(line); wrong == nil {
				return nil
			}
		case err == nil:
			wrong = errors.New("an empty answer")
		}
		if err != nil {
			return usageErrorf("%s: %v", flag, wrong)
		}
		o.say("%v. Once more, please:", wrong)
	}
}

func (o *initOptions) configFile() ([]byte, error) {
	t, err := template.ParseFS(scaffold, "scaffold/nightshift.yaml.tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, o)
	return b.Bytes(), err
}

func (o *initOptions) write() error {
	conf, err := o.configFile()
	if err != nil {
		return err
	}
	files := map[string][]byte{configName: conf}
	for _, name := range []string{"template.txt", "schema.json", "rows.csv"} {
		if files[name], err = scaffold.ReadFile("scaffold/" + name); err != nil {
			return err
		}
	}
	if err := o.refuseExisting(files); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{configName, "template.txt", "schema.json", "rows.csv"} {
		path := filepath.Join(o.Dir, name)
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintln(o.Out, path)
	}
	o.say("\nNext, with your key in GEMINI_API_KEY (or with --gemini simulated, to try it for nothing):")
	if o.Dir != "." {
		o.say("  cd %s", o.Dir)
	}
	o.say("  nightshift run rows.csv -t template.txt --schema schema.json -o results.jsonl")
	return nil
}

// refuseExisting looks at all files before any is written: nothing is half done.
func (o *initOptions) refuseExisting(files map[string][]byte) error {
	if o.Force {
		return nil
	}
	for name := range files {
		path := filepath.Join(o.Dir, name)
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("%s is there already; nothing was written (--force replaces it)", path)
		}
	}
	return nil
}
