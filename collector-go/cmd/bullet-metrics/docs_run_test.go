package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tried is how a command of a page is tried.
type tried struct {
	// typed says that the test below types it as it stands.
	typed bool
	// by names the test that runs what it runs, on a cluster, a server or a system of its own: a function of Go or a
	// class of Java.
	by string
	// not is why no test does.
	not string
}

// tries are by the beginning of a command; the longest that fits counts.
var tries = map[string]tried{
	"make build":            {not: "every target that tests builds first"},
	"make demo":             {by: "TestDemo"},
	"make test":             {not: "it is what runs this"},
	"./bullet-metrics tour": {by: "TestTheTourShowsTheIncident"},
	"tar xzf":               {by: "TestTheTarballServesWhereItIsUnpacked"},
	"git clone":             {not: "it needs the network; .ci/first-hour clones this repository"},
	"bullet-metrics status": {by: "TestStatusOfACollector"},
	"bullet-metrics replay capture.jsonl --serve": {by: "TestCapturesAreShown"},
	"make tune-all":                                           {not: "over an hour of a cluster; docs/tune/document-tests.md has the results"},
	"make bench":                                              {not: "over an hour of a quiet machine; TestOursAndTheFloorAreMeasured does a little of it"},
	"go test -run '^$' -bench":                                {not: "benchmarks; nothing passes or fails"},
	"go tool pprof -top -cum":                                 {not: "it reads the profiles of make bench"},
	"go tool pprof -top http":                                 {by: "TestProfiles"},
	"cd collector-go":                                         {not: "a directory to be in"},
	"bullet-metrics bench ingest":                             {by: "TestBenchIngest"},
	"bullet-metrics bench ingest --grpc":                      {by: "TestBenchIngestOfACollectorThatRuns"},
	"bullet-metrics bench query":                              {by: "TestBenchQuery"},
	"bullet-metrics bench senders":                            {by: "TestBenchSenders"},
	"bullet-metrics canary":                                   {by: "TestCanaryPrintsLines"},
	"bullet-metrics canary --target":                          {by: "TestDRPCsThreadsAreTheLimit"},
	"bullet-metrics canary --url bullet.example:5555 --query": {by: "TestCanaryAsksSomebodysOwnBQL"},
	"bullet-metrics canary --url bullet.example:5555 --grpc":  {by: "TestCanaryAsksSomebodysOwnBQL"},
	"bullet-metrics doctor":                                   {by: "TestDoctorOnACluster"},
	"bullet-metrics export blocks":                            {by: "TestExportBlocks"},
	"bullet-metrics fsck":                                     {by: "TestFsckNamesWhatIsDamaged"},
	"bullet-metrics load --held":                              {by: "TestLoadReportsCrossedThresholdsAndLostRecords"},
	"bullet-metrics load --rate":                              {by: "TestLoadAtARate"},
	"bullet-metrics load --rate 5000 --duration 5m --part":    {by: "TestLoadInPartsAddsUpToOneRun"},
	"bullet-metrics load merge":                               {by: "TestLoadInPartsAddsUpToOneRun"},
	"bullet-metrics load --target":                            {by: "TestDRPCsThreadsAreTheLimit"},
	"bullet-metrics load --url bullet.example:5555 --rate 2 --duration 60s --query": {by: "TestLoadAsksSomebodysOwnBQL"},
	"bullet-metrics serve --config":                                                                    {by: "TestServeCheckNamesAllFaultsAtOnce"},
	"bullet-metrics serve --data-dir":                                                                  {by: "TestHealthIsSaid"},
	"bullet-metrics storm snippet":                                                                     {typed: true},
	"bullet-metrics tune analyze":                                                                      {by: "TestTheAnalysisPagesAreTrue"},
	"bullet-metrics tune compare":                                                                      {by: "TestTuneCompareShowsWhatChanged"},
	"bullet-metrics tune list":                                                                         {by: "TestListShowsEachRunsVerdict"},
	"bullet-metrics tune optimize topology/experiments/optimize-small.yaml":                            {by: "TestCtrlCEndsASearchInOrder"},
	"bullet-metrics tune optimize topology/experiments/optimize-small.yaml --dry-run":                  {typed: true},
	"bullet-metrics tune optimize topology/experiments/optimize-small.yaml --simulate":                 {by: "TestTheSmallSearchEndsInTime"},
	"bullet-metrics tune optimize topology/experiments/optimize/test7.yaml":                            {by: "TestTheAnalysisPagesAreTrue"},
	"bullet-metrics tune plan":                                                                         {typed: true},
	"bullet-metrics tune predict":                                                                      {by: "TestPredictOfAnExperimentsStepsAndOfARunsConfiguration"},
	"bullet-metrics tune predict --check":                                                              {by: "TestPredictChecksItself"},
	"bullet-metrics tune predict --from collector-go":                                                  {by: "TestTheAnalysisPagesAreTrue"},
	"bullet-metrics tune predict topology/experiments/test5.yaml --from collector-go":                  {by: "TestTheAnalysisPagesAreTrue"},
	"bullet-metrics tune report":                                                                       {by: "TestTuneReportWritesARunsReport"},
	"bullet-metrics tune run":                                                                          {by: "TestATuneRunOnACluster"},
	"bullet-metrics tune run --resume":                                                                 {by: "TestAnInterruptedTuneRunGoesOn"},
	"bullet-metrics tune size":                                                                         {by: "TestSizeFromRuns"},
	"bullet-metrics tune size --records-per-s 300000 --queries 400 --from collector-go":                {by: "TestTheAnalysisPagesAreTrue"},
	"bullet-metrics tune size --records-per-s 1500000 --queries 400 --limit 200ms --from collector-go": {by: "TestTheAnalysisPagesAreTrue"},
	"bullet-metrics why":                                                                               {by: "TestRunningTopology"},
	"curl -X POST http://127.0.0.1:9320/-/reload":                                                      {by: "TestRulesAreReloadedByHTTPAndBySignal"},
	"curl http://127.0.0.1:9320/-/ready":                                                               {by: "TestHealthIsSaid"},
	"curl http://127.0.0.1:9320/api/v1/alerts":                                                         {by: "TestTheFirstAnswersAfterAKillAreWhole"},
	"cp -a":          {by: "TestUpgradeAndRollBackKeepEverySample"},
	"mv":             {by: "TestUpgradeAndRollBackKeepEverySample"},
	"dpkg --install": {by: "TestUpgradeAndRollBackKeepEverySample"},
	"openssl":        {not: "it makes keys, which differ each time; run by hand on 2026-11-27, with serve --check and doctor"},
	"sha256sum":      {not: "it is of coreutils"},
	"systemctl":      {not: "it needs a system that systemd has started; TestTheUnitIsSoundAndConfined checks the unit, and its command is run by hand"},
	"curl -H 'Content-Type: application/json'": {by: "TestTopologiesAndAnnotationsSurviveARestart"},
	"curl -N -d": {by: "GatewayServerTest"},
	"curl -N 'http://127.0.0.1:9320/api/v1/live": {by: "TestLiveSamplesArriveAsEvents"},
	"curl -d": {by: "GatewayServerTest"},
	"java -cp bullet-topology.jar io.github.bulletmetrics.topology.gateway.QueryGateway":  {by: "JarIT"},
	"java -cp bullet-topology.jar io.github.bulletmetrics.topology.source.RecordProducer": {by: "KafkaTimelineIT"},
	"java -jar build/local-kafka.jar":         {by: "LocalKafkaIT"},
	"java -jar build/local-kafka.jar produce": {by: "KafkaSourceIT"},
	"java -jar build/local-storm.jar":         {by: "LocalStormIT"},
	"mvn -pl":                                 {not: "make test runs the modules' tests by the same Maven"},
	"storm":                                   {by: "RunningBulletIT"},
}

// shell is a block of lines for a shell, or of a session with one.
var shell = regexp.MustCompile("(?s)```(sh|console)\n(.*?)```")

// typedOn are the lines that a page has its reader type, without their comments.
func typedOn(page string) (lines []string) {
	for _, block := range shell.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(strings.ReplaceAll(block[2], "\\\n", " ")) {
			line, found := strings.CutPrefix(strings.TrimSpace(line), "$ ")
			if line == "" || block[1] == "console" && !found {
				continue
			}
			line, _, _ = strings.Cut(line, "  #")
			lines = append(lines, strings.TrimPrefix(strings.Join(strings.Fields(line), " "), "build/"))
		}
	}
	return lines
}

// triedAs is the longest beginning of a command that is known.
func triedAs(command string) string {
	longest := ""
	for begin := range tries {
		if strings.HasPrefix(command, begin) && len(begin) > len(longest) {
			longest = begin
		}
	}
	return longest
}

// Every command that a page has its reader type is run by a test, or it stands here why none does.
func TestEveryCommandOfThePagesIsTried(t *testing.T) {
	t.Chdir("../../..")
	used := map[string]bool{}
	for path, page := range pages(t) {
		for _, command := range typedOn(page) {
			as := triedAs(command)
			if assert.NotEmpty(t, as, "%s: nothing runs %q: add to tries what does, or why nothing can", path, command) {
				used[as] = true
			}
			if tries[as].typed {
				var out bytes.Buffer
				program := newRootCommand()
				program.SetArgs(commandsOf("```sh\n" + command + "\n```")[0])
				program.SetOut(&out)
				program.SetErr(&out)
				assert.NoError(t, program.Execute(), "%s: %s", path, command)
				assert.NotEmpty(t, out.String(), "%s: %s", path, command)
			}
		}
	}
	sources := testSources(t)
	for command, as := range tries {
		assert.True(t, used[command], "no page has a command that begins with %q", command)
		if as.by != "" {
			assert.True(t, slices.ContainsFunc(sources, func(source string) bool {
				return strings.Contains(source, "func "+as.by+"(t ") || strings.Contains(source, "class "+as.by+" ")
			}), "%s: there is no test %s", command, as.by)
		}
	}
}

// testSources are the sources of all tests.
func testSources(t *testing.T) (sources []string) {
	for _, dir := range []string{"collector-go", "plugin-java", "topology"} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "target") {
				return filepath.SkipDir
			}
			if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "Test.java") || strings.HasSuffix(path, "IT.java") {
				source, err := os.ReadFile(path)
				sources = append(sources, string(source))
				return err
			}
			return err
		}))
	}
	return sources
}
