package cli

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// kubeObject is as much of Kubernetes' objects as the tests look at; CI holds the
// files against all of it.
type kubeObject struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Spec     struct {
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     kubePod
		}
		VolumeClaimTemplates []struct{ Metadata struct{ Name string } } `yaml:"volumeClaimTemplates"`
		PodSelector          struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"podSelector"`
		Ingress []struct{ Ports []struct{ Port int } }

		ScaleTargetRef struct{ Name string } `yaml:"scaleTargetRef"`
		Triggers       []struct {
			Metadata struct{ Query, Threshold string }
		}
		Metrics []struct {
			External struct {
				Metric struct{ Name string }
				Target struct {
					AverageValue string `yaml:"averageValue"`
				}
			}
		}
	}
}

type kubePod struct {
	Grace           int `yaml:"terminationGracePeriodSeconds"`
	SecurityContext struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
	} `yaml:"securityContext"`
	Containers []kubeContainer
	Volumes    []struct {
		Name      string
		ConfigMap struct{ Name string } `yaml:"configMap"`
		Secret    struct {
			SecretName string `yaml:"secretName"`
			Items      []struct{ Key, Path string }
		}
	}
}

type kubeContainer struct {
	Name, Image   string
	Args, Command []string
	Env           []struct {
		Name      string
		ValueFrom struct {
			SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
		} `yaml:"valueFrom"`
	}
	Ports []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	ReadinessProbe  kubeProbe `yaml:"readinessProbe"`
	LivenessProbe   kubeProbe `yaml:"livenessProbe"`
	StartupProbe    kubeProbe `yaml:"startupProbe"`
	SecurityContext struct {
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type kubeProbe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

func kubeObjects(t *testing.T, file string) (out []kubeObject) {
	t.Helper()
	for dec := yaml.NewDecoder(bytes.NewReader(readDeploy(t, file))); ; {
		var o kubeObject
		err := dec.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if o.Kind != "Namespace" && o.Metadata.Namespace != "nightshift" {
			t.Errorf("%s %s is in namespace %q", o.Kind, o.Metadata.Name, o.Metadata.Namespace)
		}
		out = append(out, o)
	}
}

// kubeConfig is the configuration of the manifest, as a process reads it.
func kubeConfig(t *testing.T, objects []kubeObject) *loaded {
	t.Helper()
	for _, o := range objects {
		if o.Kind != "ConfigMap" {
			continue
		}
		file := filepath.Join(t.TempDir(), configName)
		if err := os.WriteFile(file, []byte(o.Data[configName]), 0o600); err != nil {
			t.Fatal(err)
		}
		conf, err := loadConfig(file, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return conf
	}
	t.Fatal("no ConfigMap")
	return nil
}

// kubeCheck is what the objects of a manifest are held against.
type kubeCheck struct {
	*testing.T
	conf     *loaded
	policies []kubeObject
	secrets  map[string]bool // keys of the secret that the head of the file makes
}

var fromSecret = regexp.MustCompile(`--from-(?:file|literal)=([a-z.-]+)=`)

// TestKubernetes: each pod starts a process that there is and can reach what it is
// given, is asked where it answers, has the time to end, and may be reached by those
// alone that a policy names.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	objects := kubeObjects(t, "kubernetes.yaml")
	k := kubeCheck{T: t, conf: kubeConfig(t, objects), secrets: map[string]bool{}}
	for _, m := range fromSecret.FindAllStringSubmatch(string(readDeploy(t, "kubernetes.yaml")), -1) {
		k.secrets[m[1]] = true
	}
	for _, o := range objects {
		if o.Kind == "NetworkPolicy" {
			k.policies = append(k.policies, o)
		}
	}
	var started []string
	for _, o := range objects {
		pod := o.Spec.Template.Spec
		if len(pod.Containers) == 0 {
			continue
		}
		k.pod(o)
		if c := pod.Containers[0]; strings.HasPrefix(c.Image, "nightshift:") {
			started = append(started, k.process(o, c))
		}
	}
	slices.Sort(started)
	if want := []string{"dashboard", "gateway", "scheduler", "worker"}; !slices.Equal(started, want) {
		t.Errorf("the pods start %v; want %v", started, want)
	}
}

// pod looks at what holds for Redis too.
func (k kubeCheck) pod(o kubeObject) {
	k.Helper()
	pod, c := o.Spec.Template.Spec, o.Spec.Template.Spec.Containers[0]
	if escalates := c.SecurityContext.AllowPrivilegeEscalation; !pod.SecurityContext.RunAsNonRoot || !c.SecurityContext.ReadOnlyRootFilesystem || escalates == nil || *escalates {
		k.Errorf("%s is not shut in", o.Metadata.Name)
	}
	there := map[string]bool{}
	for _, v := range o.Spec.VolumeClaimTemplates {
		there[v.Metadata.Name] = true
	}
	for _, v := range pod.Volumes {
		there[v.Name] = true
		for _, i := range v.Secret.Items {
			k.secret(o, v.Secret.SecretName, i.Key)
		}
	}
	for _, m := range c.VolumeMounts {
		if !there[m.Name] {
			k.Errorf("%s mounts %s, which is not there", o.Metadata.Name, m.Name)
		}
		delete(there, m.Name)
	}
	for _, e := range c.Env {
		k.secret(o, e.ValueFrom.SecretKeyRef.Name, e.ValueFrom.SecretKeyRef.Key)
	}
	if len(there) > 0 {
		k.Errorf("%s mounts none of %v", o.Metadata.Name, slices.Collect(maps.Keys(there)))
	}
	for _, p := range c.Ports {
		if !k.admitted(o.Spec.Template.Metadata.Labels, p.ContainerPort) {
			k.Errorf("%s: no policy says who reaches port %d", o.Metadata.Name, p.ContainerPort)
		}
	}
	if line := strings.Join(c.Command, " "); c.Name == "redis" && (!strings.Contains(line, "--appendonly yes") || !strings.Contains(line, "--maxmemory-policy noeviction")) {
		k.Errorf("Redis is started with %s", line)
	}
}

func (k kubeCheck) secret(o kubeObject, name, key string) {
	k.Helper()
	if name != "nightshift" || !k.secrets[key] {
		k.Errorf("%s wants %q of secret %q; the file's head makes %v", o.Metadata.Name, key, name, slices.Sorted(maps.Keys(k.secrets)))
	}
}

// admitted says whether a policy speaks of a port of pods with labels.
func (k kubeCheck) admitted(labels map[string]string, port int) bool {
	return slices.ContainsFunc(k.policies, func(p kubeObject) bool {
		for key, value := range p.Spec.PodSelector.MatchLabels {
			if labels[key] != value {
				return false
			}
		}
		for _, rule := range p.Spec.Ingress {
			for _, at := range rule.Ports {
				if at.Port == port {
					return true
				}
			}
		}
		return false
	})
}

// process looks at a pod of ours.
func (k kubeCheck) process(o kubeObject, c kubeContainer) string {
	k.Helper()
	cmd := deployed(k.T, c.Args)
	process := cmd.Name()
	if o.Metadata.Name != "nightshift-"+process || o.Spec.Template.Metadata.Labels["app.kubernetes.io/component"] != process {
		k.Errorf("%s starts %s", o.Metadata.Name, process)
	}
	for _, e := range c.Env {
		if _, err := envValues([]string{e.Name + "=1"}); err != nil {
			k.Error(err)
		}
	}
	k.conf.checkGrace(k.T, process, time.Duration(o.Spec.Template.Spec.Grace)*time.Second)
	listens := map[string]string{"metrics": k.conf.Metrics.Listen}
	switch process {
	case "gateway":
		listens["http"] = k.conf.Gateway.Listen
	case "dashboard":
		listens["http"] = cmd.Flag("listen").Value.String()
	}
	for _, p := range c.Ports {
		if want := net.JoinHostPort("0.0.0.0", strconv.Itoa(p.ContainerPort)); listens[p.Name] != want {
			k.Errorf("%s: port %s is %d; the process listens at %q", process, p.Name, p.ContainerPort, listens[p.Name])
		}
		delete(listens, p.Name)
	}
	if len(listens) > 0 {
		k.Errorf("%s: no port for %v", process, listens)
	}
	k.probes(process, c)
	k.files(o, c)
	return process
}

// probes wants them to ask what answers: the address for metrics, and of the gateway
// its own for who sends calls.
func (k kubeCheck) probes(process string, c kubeContainer) {
	k.Helper()
	w := &watched{process: process, reg: newRegistry(process)}
	for probe, want := range map[kubeProbe]string{c.ReadinessProbe: "/readyz", c.LivenessProbe: "/healthz", c.StartupProbe: "/healthz"} {
		port := "metrics"
		if process == "gateway" && want == "/readyz" {
			port = "http"
		}
		if probe.HTTPGet.Path != want || probe.HTTPGet.Port != port {
			k.Errorf("%s: %+v; want %s at %s", process, probe, want, port)
		}
		rw := httptest.NewRecorder()
		w.handler().ServeHTTP(rw, httptest.NewRequest(http.MethodGet, probe.HTTPGet.Path, nil))
		if rw.Code == http.StatusNotFound {
			k.Errorf("%s does not serve %s", process, probe.HTTPGet.Path)
		}
	}
}

// files wants what the process reads and writes to be mounted where the image and the
// configuration look.
func (k kubeCheck) files(o kubeObject, c kubeContainer) {
	k.Helper()
	image := string(readDeploy(k.T, "Dockerfile"))
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	for name, want := range map[string]string{"config": "NIGHTSHIFT_CONFIG=" + mounts["config"] + "/" + configName, "state": "NIGHTSHIFT_STATE_DIR=" + mounts["state"]} {
		if !regexp.MustCompile(`(?m)[ ]` + regexp.QuoteMeta(want) + `(?:[ ]|$)`).MatchString(image) {
			k.Errorf("%s: the image does not look for its %s at %s", o.Metadata.Name, name, want)
		}
	}
	key := ""
	for _, v := range o.Spec.Template.Spec.Volumes {
		if v.Name == "key" {
			key = filepath.Join(mounts["key"], v.Secret.Items[0].Path)
		}
	}
	// Who calls Gemini has the key, and nobody else.
	if calls := c.Name == "worker" || c.Name == "gateway"; calls && key != k.conf.Gemini.APIKeyFile || !calls && key != "" {
		k.Errorf("%s has the key at %q; the configuration says %s", c.Name, key, k.conf.Gemini.APIKeyFile)
	}
}

// TestKubernetesScalesOnWork: the autoscalers count the workers by a metric that there
// is, in parts of what one worker does at once.
func TestKubernetesScalesOnWork(t *testing.T) {
	t.Parallel()
	objects := kubeObjects(t, "kubernetes.yaml")
	per := strconv.Itoa(kubeConfig(t, objects).Worker.Concurrency)
	var records []string
	for _, g := range alerts(t).Groups {
		for _, r := range g.Rules {
			records = append(records, r.Record)
		}
	}
	check := func(o kubeObject, metric, part string) {
		if !slices.ContainsFunc(objects, func(to kubeObject) bool {
			return to.Kind == "Deployment" && to.Metadata.Name == o.Spec.ScaleTargetRef.Name
		}) || metric == "" || !slices.Contains(records, metric) || part != per {
			t.Errorf("%s scales %s by %q in parts of %q; want a rule of alerts.yaml, and parts of %s", o.Kind, o.Spec.ScaleTargetRef.Name, metric, part, per)
		}
	}
	keda, hpa := kubeObjects(t, "kubernetes-keda.yaml")[0], kubeObjects(t, "kubernetes-hpa.yaml")[0]
	check(keda, keda.Spec.Triggers[0].Metadata.Query, keda.Spec.Triggers[0].Metadata.Threshold)
	check(hpa, hpa.Spec.Metrics[0].External.Metric.Name, hpa.Spec.Metrics[0].External.Target.AverageValue)
}
