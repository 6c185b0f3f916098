package io.github.bulletmetrics.topology.localstorm.loopback;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.storm.security.auth.ReqContext;
import org.apache.storm.security.auth.SimpleTransportPlugin;
import org.apache.storm.thrift.TException;
import org.apache.storm.thrift.TProcessor;
import org.apache.storm.thrift.protocol.TBinaryProtocol;
import org.apache.storm.thrift.protocol.TProtocol;
import org.apache.storm.thrift.server.THsHaServer;
import org.apache.storm.thrift.server.TServer;
import org.apache.storm.thrift.transport.TNonblockingServerSocket;
import org.apache.storm.thrift.transport.TTransportException;

/**
 * Storm's simple Thrift transport, listening on 127.0.0.1 instead of on every address: whoever reaches Nimbus may run
 * any code, so nobody but this machine should. On the wire the two are the same.
 *
 * <p>Nimbus writes its own settings into those of every topology, so workers, too, find this class named, and use it as
 * clients.
 *
 * <p>Source: {@code org.apache.storm.security.auth.SimpleTransportPlugin} of Storm 2.8, whose server cannot be given
 * its address.
 */
public final class LoopbackTransportPlugin extends SimpleTransportPlugin {
    private int port;

    @Override
    public TServer getServer(TProcessor processor) throws TTransportException {
        TNonblockingServerSocket socket = new TNonblockingServerSocket(
            new InetSocketAddress("127.0.0.1", type.getPort(topoConf)));
        port = socket.getPort();
        int threads = type.getNumThreads(topoConf);
        int maxBufferSize = type.getMaxBufferSize(topoConf);
        THsHaServer.Args arguments = new THsHaServer.Args(socket)
            .processor((in, out) -> process(processor, in, out))
            .maxWorkerThreads(threads)
            .protocolFactory(new TBinaryProtocol.Factory(false, true, maxBufferSize, -1));
        arguments.maxReadBufferBytes = maxBufferSize;
        Integer queueSize = type.getQueueSize(topoConf);
        if (queueSize != null) {
            arguments.executorService(new ThreadPoolExecutor(threads, threads, 1, TimeUnit.MINUTES,
                new ArrayBlockingQueue<>(queueSize)));
        }
        return new THsHaServer(arguments);
    }

    @Override
    public int getPort() {
        return port;
    }

    /** As the simple transport does: everybody is nobody in particular. */
    private static void process(TProcessor processor, TProtocol in, TProtocol out) throws TException {
        ReqContext context = ReqContext.context();
        context.setRemoteAddress(InetAddress.getLoopbackAddress());
        context.setSubject(null);
        processor.process(in, out);
    }
}
