package io.github.bulletmetrics.storm.proto.v1;

import static io.grpc.MethodDescriptor.generateFullMethodName;

/**
 * <pre>
 * IngestService takes samples.
 * </pre>
 */
@io.grpc.stub.annotations.GrpcGenerated
public final class IngestServiceGrpc {

  private IngestServiceGrpc() {}

  public static final java.lang.String SERVICE_NAME = "bulletmetrics.v1.IngestService";

  // Static method descriptors that strictly reflect the proto.
  private static volatile io.grpc.MethodDescriptor<io.github.bulletmetrics.storm.proto.v1.ExportRequest,
      io.github.bulletmetrics.storm.proto.v1.ExportResponse> getExportMethod;

  @io.grpc.stub.annotations.RpcMethod(
      fullMethodName = SERVICE_NAME + '/' + "Export",
      requestType = io.github.bulletmetrics.storm.proto.v1.ExportRequest.class,
      responseType = io.github.bulletmetrics.storm.proto.v1.ExportResponse.class,
      methodType = io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
  public static io.grpc.MethodDescriptor<io.github.bulletmetrics.storm.proto.v1.ExportRequest,
      io.github.bulletmetrics.storm.proto.v1.ExportResponse> getExportMethod() {
    io.grpc.MethodDescriptor<io.github.bulletmetrics.storm.proto.v1.ExportRequest, io.github.bulletmetrics.storm.proto.v1.ExportResponse> getExportMethod;
    if ((getExportMethod = IngestServiceGrpc.getExportMethod) == null) {
      synchronized (IngestServiceGrpc.class) {
        if ((getExportMethod = IngestServiceGrpc.getExportMethod) == null) {
          IngestServiceGrpc.getExportMethod = getExportMethod =
              io.grpc.MethodDescriptor.<io.github.bulletmetrics.storm.proto.v1.ExportRequest, io.github.bulletmetrics.storm.proto.v1.ExportResponse>newBuilder()
              .setType(io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING)
              .setFullMethodName(generateFullMethodName(SERVICE_NAME, "Export"))
              .setSampledToLocalTracing(true)
              .setRequestMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.bulletmetrics.storm.proto.v1.ExportRequest.getDefaultInstance()))
              .setResponseMarshaller(io.grpc.protobuf.ProtoUtils.marshaller(
                  io.github.bulletmetrics.storm.proto.v1.ExportResponse.getDefaultInstance()))
              .setSchemaDescriptor(new IngestServiceMethodDescriptorSupplier("Export"))
              .build();
        }
      }
    }
    return getExportMethod;
  }

  /**
   * Creates a new async stub that supports all call types for the service
   */
  public static IngestServiceStub newStub(io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IngestServiceStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IngestServiceStub>() {
        @java.lang.Override
        public IngestServiceStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IngestServiceStub(channel, callOptions);
        }
      };
    return IngestServiceStub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports all types of calls on the service
   */
  public static IngestServiceBlockingV2Stub newBlockingV2Stub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IngestServiceBlockingV2Stub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IngestServiceBlockingV2Stub>() {
        @java.lang.Override
        public IngestServiceBlockingV2Stub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IngestServiceBlockingV2Stub(channel, callOptions);
        }
      };
    return IngestServiceBlockingV2Stub.newStub(factory, channel);
  }

  /**
   * Creates a new blocking-style stub that supports unary and streaming output calls on the service
   */
  public static IngestServiceBlockingStub newBlockingStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IngestServiceBlockingStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IngestServiceBlockingStub>() {
        @java.lang.Override
        public IngestServiceBlockingStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IngestServiceBlockingStub(channel, callOptions);
        }
      };
    return IngestServiceBlockingStub.newStub(factory, channel);
  }

  /**
   * Creates a new ListenableFuture-style stub that supports unary calls on the service
   */
  public static IngestServiceFutureStub newFutureStub(
      io.grpc.Channel channel) {
    io.grpc.stub.AbstractStub.StubFactory<IngestServiceFutureStub> factory =
      new io.grpc.stub.AbstractStub.StubFactory<IngestServiceFutureStub>() {
        @java.lang.Override
        public IngestServiceFutureStub newStub(io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
          return new IngestServiceFutureStub(channel, callOptions);
        }
      };
    return IngestServiceFutureStub.newStub(factory, channel);
  }

  /**
   * <pre>
   * IngestService takes samples.
   * </pre>
   */
  public interface AsyncService {

    /**
     * <pre>
     * Export is one sender's stream. The first request is an Open, answered by an Opened; every further one is a Batch. Batches
     * are sent in order of their sequence without waiting for answers, up to the window that Opened names.
     * Who sends. A collector with a list of tokens wants one as metadata of the call: "authorization: Bearer &lt;token&gt;". It may also want
     * a client certificate (TLS 1.2 or later). What was shown is looked at again while the stream is open: a stream whose token or certificate
     * was revoked, or has expired, ends within 5 s.
     * Life of a stream. The Open must come within 10 s. A stream has no deadline: it stays open while the sender runs. The collector takes
     * 384 streams in all and 16 a connection, unless it was set otherwise; a topology, a token or an address may hold twice as many as are
     * free. It pings a connection that was silent for 15 s and closes it when no answer comes within 10 s; a client may ping every 5 s at
     * most. A connection without a stream is closed after 15 s, and one with a message that is not whole 20 s after its first byte,
     * unless it comes at 16 KiB/s. When the sender half-closes, the collector acknowledges all that is under
     * way and ends the stream with OK. Requests may be compressed with gzip; limits are of what is unpacked.
     * Several collectors. A sender that names its epoch in Open can carry what a collector knows of its topology from one to the
     * next: see State. It counts up Open.generation with each collector that it moves to, and sends to one at a time.
     * Resending. What was not acknowledged when a stream ends is sent again on a new one, oldest first, under its old epoch and
     * sequence, after all its series and layouts have been defined there. An acknowledgement takes as long as the collector's disk does,
     * milliseconds as a rule; a sender that has heard nothing for 30 s may end the stream and begin another.
     * A stream ends with
     *   INVALID_ARGUMENT    a request that breaks this protocol; the message says which field and why. Sending it again is useless.
     *   UNAUTHENTICATED, PERMISSION_DENIED  no token or certificate, one that is not or no longer known, or one that is not for this
     *                       topology.
     *   RESOURCE_EXHAUSTED  the collector takes no further stream, or the stream has defined as many layouts as one may (65,536, or
     *                       4,194,304 series in all of them); the detail RetryInfo says when to try again, on a new stream.
     *                       Without that detail: a request larger than max_batch_bytes; sending it again is useless.
     *   UNAVAILABLE         the collector is closing, or cannot tell who may send. What was not acknowledged is to be sent again.
     * </pre>
     */
    default io.grpc.stub.StreamObserver<io.github.bulletmetrics.storm.proto.v1.ExportRequest> export(
        io.grpc.stub.StreamObserver<io.github.bulletmetrics.storm.proto.v1.ExportResponse> responseObserver) {
      return io.grpc.stub.ServerCalls.asyncUnimplementedStreamingCall(getExportMethod(), responseObserver);
    }
  }

  /**
   * Base class for the server implementation of the service IngestService.
   * <pre>
   * IngestService takes samples.
   * </pre>
   */
  public static abstract class IngestServiceImplBase
      implements io.grpc.BindableService, AsyncService {

    @java.lang.Override public final io.grpc.ServerServiceDefinition bindService() {
      return IngestServiceGrpc.bindService(this);
    }
  }

  /**
   * A stub to allow clients to do asynchronous rpc calls to service IngestService.
   * <pre>
   * IngestService takes samples.
   * </pre>
   */
  public static final class IngestServiceStub
      extends io.grpc.stub.AbstractAsyncStub<IngestServiceStub> {
    private IngestServiceStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IngestServiceStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IngestServiceStub(channel, callOptions);
    }

    /**
     * <pre>
     * Export is one sender's stream. The first request is an Open, answered by an Opened; every further one is a Batch. Batches
     * are sent in order of their sequence without waiting for answers, up to the window that Opened names.
     * Who sends. A collector with a list of tokens wants one as metadata of the call: "authorization: Bearer &lt;token&gt;". It may also want
     * a client certificate (TLS 1.2 or later). What was shown is looked at again while the stream is open: a stream whose token or certificate
     * was revoked, or has expired, ends within 5 s.
     * Life of a stream. The Open must come within 10 s. A stream has no deadline: it stays open while the sender runs. The collector takes
     * 384 streams in all and 16 a connection, unless it was set otherwise; a topology, a token or an address may hold twice as many as are
     * free. It pings a connection that was silent for 15 s and closes it when no answer comes within 10 s; a client may ping every 5 s at
     * most. A connection without a stream is closed after 15 s, and one with a message that is not whole 20 s after its first byte,
     * unless it comes at 16 KiB/s. When the sender half-closes, the collector acknowledges all that is under
     * way and ends the stream with OK. Requests may be compressed with gzip; limits are of what is unpacked.
     * Several collectors. A sender that names its epoch in Open can carry what a collector knows of its topology from one to the
     * next: see State. It counts up Open.generation with each collector that it moves to, and sends to one at a time.
     * Resending. What was not acknowledged when a stream ends is sent again on a new one, oldest first, under its old epoch and
     * sequence, after all its series and layouts have been defined there. An acknowledgement takes as long as the collector's disk does,
     * milliseconds as a rule; a sender that has heard nothing for 30 s may end the stream and begin another.
     * A stream ends with
     *   INVALID_ARGUMENT    a request that breaks this protocol; the message says which field and why. Sending it again is useless.
     *   UNAUTHENTICATED, PERMISSION_DENIED  no token or certificate, one that is not or no longer known, or one that is not for this
     *                       topology.
     *   RESOURCE_EXHAUSTED  the collector takes no further stream, or the stream has defined as many layouts as one may (65,536, or
     *                       4,194,304 series in all of them); the detail RetryInfo says when to try again, on a new stream.
     *                       Without that detail: a request larger than max_batch_bytes; sending it again is useless.
     *   UNAVAILABLE         the collector is closing, or cannot tell who may send. What was not acknowledged is to be sent again.
     * </pre>
     */
    public io.grpc.stub.StreamObserver<io.github.bulletmetrics.storm.proto.v1.ExportRequest> export(
        io.grpc.stub.StreamObserver<io.github.bulletmetrics.storm.proto.v1.ExportResponse> responseObserver) {
      return io.grpc.stub.ClientCalls.asyncBidiStreamingCall(
          getChannel().newCall(getExportMethod(), getCallOptions()), responseObserver);
    }
  }

  /**
   * A stub to allow clients to do synchronous rpc calls to service IngestService.
   * <pre>
   * IngestService takes samples.
   * </pre>
   */
  public static final class IngestServiceBlockingV2Stub
      extends io.grpc.stub.AbstractBlockingStub<IngestServiceBlockingV2Stub> {
    private IngestServiceBlockingV2Stub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IngestServiceBlockingV2Stub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IngestServiceBlockingV2Stub(channel, callOptions);
    }

    /**
     * <pre>
     * Export is one sender's stream. The first request is an Open, answered by an Opened; every further one is a Batch. Batches
     * are sent in order of their sequence without waiting for answers, up to the window that Opened names.
     * Who sends. A collector with a list of tokens wants one as metadata of the call: "authorization: Bearer &lt;token&gt;". It may also want
     * a client certificate (TLS 1.2 or later). What was shown is looked at again while the stream is open: a stream whose token or certificate
     * was revoked, or has expired, ends within 5 s.
     * Life of a stream. The Open must come within 10 s. A stream has no deadline: it stays open while the sender runs. The collector takes
     * 384 streams in all and 16 a connection, unless it was set otherwise; a topology, a token or an address may hold twice as many as are
     * free. It pings a connection that was silent for 15 s and closes it when no answer comes within 10 s; a client may ping every 5 s at
     * most. A connection without a stream is closed after 15 s, and one with a message that is not whole 20 s after its first byte,
     * unless it comes at 16 KiB/s. When the sender half-closes, the collector acknowledges all that is under
     * way and ends the stream with OK. Requests may be compressed with gzip; limits are of what is unpacked.
     * Several collectors. A sender that names its epoch in Open can carry what a collector knows of its topology from one to the
     * next: see State. It counts up Open.generation with each collector that it moves to, and sends to one at a time.
     * Resending. What was not acknowledged when a stream ends is sent again on a new one, oldest first, under its old epoch and
     * sequence, after all its series and layouts have been defined there. An acknowledgement takes as long as the collector's disk does,
     * milliseconds as a rule; a sender that has heard nothing for 30 s may end the stream and begin another.
     * A stream ends with
     *   INVALID_ARGUMENT    a request that breaks this protocol; the message says which field and why. Sending it again is useless.
     *   UNAUTHENTICATED, PERMISSION_DENIED  no token or certificate, one that is not or no longer known, or one that is not for this
     *                       topology.
     *   RESOURCE_EXHAUSTED  the collector takes no further stream, or the stream has defined as many layouts as one may (65,536, or
     *                       4,194,304 series in all of them); the detail RetryInfo says when to try again, on a new stream.
     *                       Without that detail: a request larger than max_batch_bytes; sending it again is useless.
     *   UNAVAILABLE         the collector is closing, or cannot tell who may send. What was not acknowledged is to be sent again.
     * </pre>
     */
    @io.grpc.ExperimentalApi("https://github.com/grpc/grpc-java/issues/10918")
    public io.grpc.stub.BlockingClientCall<io.github.bulletmetrics.storm.proto.v1.ExportRequest, io.github.bulletmetrics.storm.proto.v1.ExportResponse>
        export() {
      return io.grpc.stub.ClientCalls.blockingBidiStreamingCall(
          getChannel(), getExportMethod(), getCallOptions());
    }
  }

  /**
   * A stub to allow clients to do limited synchronous rpc calls to service IngestService.
   * <pre>
   * IngestService takes samples.
   * </pre>
   */
  public static final class IngestServiceBlockingStub
      extends io.grpc.stub.AbstractBlockingStub<IngestServiceBlockingStub> {
    private IngestServiceBlockingStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IngestServiceBlockingStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IngestServiceBlockingStub(channel, callOptions);
    }
  }

  /**
   * A stub to allow clients to do ListenableFuture-style rpc calls to service IngestService.
   * <pre>
   * IngestService takes samples.
   * </pre>
   */
  public static final class IngestServiceFutureStub
      extends io.grpc.stub.AbstractFutureStub<IngestServiceFutureStub> {
    private IngestServiceFutureStub(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      super(channel, callOptions);
    }

    @java.lang.Override
    protected IngestServiceFutureStub build(
        io.grpc.Channel channel, io.grpc.CallOptions callOptions) {
      return new IngestServiceFutureStub(channel, callOptions);
    }
  }

  private static final int METHODID_EXPORT = 0;

  private static final class MethodHandlers<Req, Resp> implements
      io.grpc.stub.ServerCalls.UnaryMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ServerStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.ClientStreamingMethod<Req, Resp>,
      io.grpc.stub.ServerCalls.BidiStreamingMethod<Req, Resp> {
    private final AsyncService serviceImpl;
    private final int methodId;

    MethodHandlers(AsyncService serviceImpl, int methodId) {
      this.serviceImpl = serviceImpl;
      this.methodId = methodId;
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public void invoke(Req request, io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        default:
          throw new AssertionError();
      }
    }

    @java.lang.Override
    @java.lang.SuppressWarnings("unchecked")
    public io.grpc.stub.StreamObserver<Req> invoke(
        io.grpc.stub.StreamObserver<Resp> responseObserver) {
      switch (methodId) {
        case METHODID_EXPORT:
          return (io.grpc.stub.StreamObserver<Req>) serviceImpl.export(
              (io.grpc.stub.StreamObserver<io.github.bulletmetrics.storm.proto.v1.ExportResponse>) responseObserver);
        default:
          throw new AssertionError();
      }
    }
  }

  public static final io.grpc.ServerServiceDefinition bindService(AsyncService service) {
    return io.grpc.ServerServiceDefinition.builder(getServiceDescriptor())
        .addMethod(
          getExportMethod(),
          io.grpc.stub.ServerCalls.asyncBidiStreamingCall(
            new MethodHandlers<
              io.github.bulletmetrics.storm.proto.v1.ExportRequest,
              io.github.bulletmetrics.storm.proto.v1.ExportResponse>(
                service, METHODID_EXPORT)))
        .build();
  }

  private static abstract class IngestServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoFileDescriptorSupplier, io.grpc.protobuf.ProtoServiceDescriptorSupplier {
    IngestServiceBaseDescriptorSupplier() {}

    @java.lang.Override
    public com.google.protobuf.Descriptors.FileDescriptor getFileDescriptor() {
      return io.github.bulletmetrics.storm.proto.v1.ServiceProto.getDescriptor();
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.ServiceDescriptor getServiceDescriptor() {
      return getFileDescriptor().findServiceByName("IngestService");
    }
  }

  private static final class IngestServiceFileDescriptorSupplier
      extends IngestServiceBaseDescriptorSupplier {
    IngestServiceFileDescriptorSupplier() {}
  }

  private static final class IngestServiceMethodDescriptorSupplier
      extends IngestServiceBaseDescriptorSupplier
      implements io.grpc.protobuf.ProtoMethodDescriptorSupplier {
    private final java.lang.String methodName;

    IngestServiceMethodDescriptorSupplier(java.lang.String methodName) {
      this.methodName = methodName;
    }

    @java.lang.Override
    public com.google.protobuf.Descriptors.MethodDescriptor getMethodDescriptor() {
      return getServiceDescriptor().findMethodByName(methodName);
    }
  }

  private static volatile io.grpc.ServiceDescriptor serviceDescriptor;

  public static io.grpc.ServiceDescriptor getServiceDescriptor() {
    io.grpc.ServiceDescriptor result = serviceDescriptor;
    if (result == null) {
      synchronized (IngestServiceGrpc.class) {
        result = serviceDescriptor;
        if (result == null) {
          serviceDescriptor = result = io.grpc.ServiceDescriptor.newBuilder(SERVICE_NAME)
              .setSchemaDescriptor(new IngestServiceFileDescriptorSupplier())
              .addMethod(getExportMethod())
              .build();
        }
      }
    }
    return result;
  }
}
