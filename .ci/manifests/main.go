// Command manifests holds Kubernetes manifests against the API's own types: an unknown
// or misplaced field, a wrong kind of value and a kind that there is not are errors.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, autoscalingv2.AddToScheme, corev1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err) // never: the types are the API's own
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	failed := len(os.Args) < 2
	for _, name := range os.Args[1:] {
		n, err := check(decoder, name)
		if err != nil || n == 0 {
			fmt.Fprintf(os.Stderr, "%s: object %d: %v\n", name, n+1, err)
			failed = true
			continue
		}
		fmt.Printf("%s: %d objects\n", name, n)
	}
	if failed {
		os.Exit(1)
	}
}

// check gives how many objects of a file are good; the one after them is what err is of.
func check(decoder runtime.Decoder, name string) (good int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for r := yaml.NewYAMLReader(bufio.NewReader(f)); ; good++ {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return good, nil
		}
		if err == nil {
			_, _, err = decoder.Decode(doc, nil, nil)
		}
		if err != nil {
			return good, err
		}
	}
}
