// The generator of Go's gRPC code; apart, so that none of its modules reaches the collector.
module github.com/bullet-metrics/bullet-metrics/proto/tools

go 1.26.7

tool google.golang.org/grpc/cmd/protoc-gen-go-grpc

require (
	google.golang.org/grpc/cmd/protoc-gen-go-grpc v1.6.2 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
