package io.github.bulletmetrics.storm.jar;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;

/** Looks into the jar that users drop into their topology. */
class FinishedJarIT {
    private static final String OURS = "io/github/bulletmetrics/";
    private static final String SHADED = OURS + "storm/shaded/";
    private static final int JAVA_8 = 52;
    /** A class in a descriptor. */
    private static final Pattern DESCRIBED = Pattern.compile("L([^;]+);");
    /** What the jar may look for outside: Java, Storm, SLF4J and the two types that Bullet registers with. */
    private static final Pattern OUTSIDE =
            Pattern.compile("(java|javax/(net|crypto|security)|org/apache/storm|org/slf4j)/.*|sun/misc/Unsafe"
            + "|com/sun/management/OperatingSystemMXBean|com/yahoo/bullet/BulletConfig|com/yahoo/bullet/storm/BulletStormConfig");

    /**
     * What is under META-INF/versions would be seen as such by Java 9 and later: it does not begin with what is ours,
     * so there is none.
     */
    @Test
    void everyClassIsOursAndRunsOnJava8() throws IOException {
        try (JarFile jar = new JarFile(PluginJar.path().toFile())) {
            assertThat(jar.getManifest().getMainAttributes().getValue("Multi-Release")).isNull();
            List<String> classes = entries(jar, ".class");
            assertThat(classes).hasSizeGreaterThan(1_000).allSatisfy(name -> {
                assertThat(name).startsWith(OURS).doesNotContain("module-info");
                DataInputStream in = new DataInputStream(jar.getInputStream(jar.getEntry(name)));
                assertThat(in.readInt()).isEqualTo(0xCAFEBABE);
                assertThat(in.readInt()).as("class version of %s", name).isLessThanOrEqualTo(JAVA_8);
            });
        }
    }

    @Test
    void whatIsNoClassIsOursALicenceOrAService() throws IOException {
        try (JarFile jar = new JarFile(PluginJar.path().toFile())) {
            assertThat(entries(jar, "")).filteredOn(name -> !name.startsWith(OURS))
                    .allMatch(name -> name.equals("META-INF/MANIFEST.MF")
                    || name.startsWith("META-INF/licenses/")
                    || name.startsWith("META-INF/services/io.github.bulletmetrics."));
        }
    }

    /** The version that the manifest states is the one that the plugin sends to the collector. */
    @Test
    void theManifestHasThePluginsVersionAndNothingOfWhoBuiltIt() throws IOException {
        try (JarFile jar = new JarFile(PluginJar.path().toFile())) {
            Properties plugin = new Properties();
            plugin.load(jar.getInputStream(jar.getEntry(OURS + "storm/plugin.properties")));
            Attributes manifest = jar.getManifest().getMainAttributes();
            assertThat(manifest.getValue("Implementation-Version")).isEqualTo(plugin.getProperty("version"))
                    .matches("\\d+\\.\\d+\\.\\d+(-.+)?");
            assertThat(manifest.getValue("Built-By")).isNull();
        }
    }

    @Test
    void servicesAreRelocatedAndNameClassesThatAreThere() throws IOException {
        try (JarFile jar = new JarFile(PluginJar.path().toFile())) {
            List<String> services = entries(jar, "").stream().filter(name -> name.startsWith("META-INF/services/"))
                    .toList();
            assertThat(services).anyMatch(name -> name.endsWith("io.grpc.NameResolverProvider"))
                    .anyMatch(name -> name.endsWith("io.grpc.LoadBalancerProvider"));
            for (String service : services) {
                for (String line : new String(jar.getInputStream(jar.getEntry(service)).readAllBytes()).split(
                        "\\s*\n")) {
                    assertThat(jar.getEntry(line.replace('.', '/') + ".class")).as("%s of %s", line, service)
                            .isNotNull();
                }
            }
        }
    }

    @Test
    void whatItLooksForOutsideIsJavaStormAndBulletAlone() throws IOException {
        TreeSet<String> found = new TreeSet<>();
        TreeSet<String> allowed = new TreeSet<>();
        try (JarFile jar = new JarFile(PluginJar.path().toFile())) {
            for (String name : entries(jar, ".class")) {
                for (String outside : references(jar.getInputStream(jar.getEntry(name)).readAllBytes())) {
                    if (OUTSIDE.matcher(outside).matches()) {
                        allowed.add(outside);
                    } else if (!outside.startsWith(OURS)) {
                        found.add(name + " refers to " + outside);
                    }
                }
            }
        }
        assertThat(found).isEmpty();
        assertThat(allowed).as("what the test sees").contains("com/yahoo/bullet/BulletConfig",
                "com/yahoo/bullet/storm/BulletStormConfig",
                "org/apache/storm/metric/api/IMetricsConsumer", "org/slf4j/Logger", "java/lang/Object");
    }

    @Test
    void theLicencesOfWhatIsInsideAreInside() throws IOException {
        try (JarFile jar = new JarFile(PluginJar.path().toFile())) {
            assertThat(entries(jar, "")).contains("META-INF/licenses/THIRD-PARTY.txt",
                    "META-INF/licenses/Apache-2.0.txt",
                    "META-INF/licenses/BSD-3-Clause-protobuf.txt");
        }
    }

    /**
     * The bill of materials names what each class of another's in the jar is from: whatever is looked up in it was
     * looked up for the whole jar.
     */
    @Test
    void theBillOfMaterialsNamesWhateverIsInside() throws IOException {
        TreeSet<String> listed = new TreeSet<>();
        JsonObject bill = JsonParser.parseString(Files.readString(PluginJar.path().resolveSibling("bom.json")))
                .getAsJsonObject();
        for (JsonElement element : bill.getAsJsonArray("components")) {
            JsonObject component = element.getAsJsonObject();
            listed.add(component.get("name").getAsString() + "-" + component.get("version").getAsString() + ".jar");
        }
        TreeSet<String> inside = new TreeSet<>();
        try (JarFile jar = new JarFile(PluginJar.path().toFile())) {
            for (String name : entries(jar, ".class")) {
                if (name.startsWith(SHADED)) {
                    inside.add(origin(name.substring(SHADED.length())));
                }
            }
        }
        assertThat(inside).hasSizeGreaterThan(10).isSubsetOf(listed);
    }

    /** The jar that a class has on this JVM's class path. */
    private static String origin(String name) {
        String[] parts = FinishedJarIT.class.getClassLoader().getResource(name).getPath().split("!")[0].split("/");
        return parts[parts.length - 1];
    }

    @Test
    void aJvmWithoutBulletLoadsThePlainConsumerFromTheJar() throws Exception {
        assertThat(PluginJar.run(ExportMain.class, () -> true, "address=127.0.0.1:1")).contains("prepare ");
    }

    private static List<String> entries(JarFile jar, String ending) {
        return jar.stream().filter(entry -> !entry.isDirectory()).map(ZipEntry::getName)
                .filter(name -> name.endsWith(ending)).toList();
    }

    /**
     * The classes that a class refers to, itself or in a descriptor, from its constant pool; not the texts that it only
     * prints. See JVMS 4.4.
     */
    private static List<String> references(byte[] classFile) throws IOException {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(classFile));
        in.skipBytes(8);
        int count = in.readUnsignedShort();
        String[] texts = new String[count];
        List<Integer> referred = new ArrayList<>();
        for (int i = 1; i < count; i++) {
            int tag = in.readUnsignedByte();
            switch (tag) {
                case 1 -> texts[i] = in.readUTF();
                case 3, 4, 9, 10, 11, 17, 18 -> in.skipBytes(4);
                case 5, 6 -> {
                    in.skipBytes(8);
                    i++;
                }
                case 7, 16 -> referred.add(in.readUnsignedShort());
                case 12 -> {
                    in.skipBytes(2);
                    referred.add(in.readUnsignedShort());
                }
                case 8, 19, 20 -> in.skipBytes(2);
                case 15 -> in.skipBytes(3);
                default -> throw new IOException("constant of tag " + tag);
            }
        }
        return referred.stream().flatMap(index -> classes(texts[index])).toList();
    }

    private static Stream<String> classes(String reference) {
        boolean isDescriptor = reference.endsWith(";") || reference.startsWith("(") || reference.startsWith("[");
        return isDescriptor ? DESCRIBED.matcher(reference).results().map(found -> found.group(1)) : Stream.of(reference)
                .filter(name -> name.contains("/"));
    }
}
