"""Joins the site: pages that live beside their code become pages of the site, and links to other files lead to the repository."""
import os
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

# Pages outside docs/, and their place on the site.
BESIDE_CODE = {
    "proto/METRICS.md": "topology-metrics.md",
    "topology/SETTINGS.md": "topology-settings.md",
    "topology/README.md": "topology.md",
    "topology/GATEWAY.md": "gateway.md",
    "topology/RECORDS.md": "record-sources.md",
    "topology/local-storm/README.md": "local-storm.md",
    "topology/local-kafka/README.md": "local-kafka.md",
    "topology/captures/README.md": "captures.md",
    "topology/compat-tests/README.md": "compat-tests.md",
    "plugin-java/README.md": "plugin.md",
    "plugin-java/bench/README.md": "plugin-benchmarks.md",
    "dashboards/README.md": "dashboards.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
}
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"(\]\(|\]: )([^)\s#]*)(#[^)\s]*)?(?=[)\s])")


def on_files(files, config):
    for source, place in BESIDE_CODE.items():
        with open(os.path.join(ROOT, source), encoding="utf-8") as page:
            files.append(File.generated(config, place, content=page.read()))
    return files


def on_page_markdown(markdown, page, config, files):
    """Every relative link is resolved as in the repository; what is no page of the site becomes an address of the repository."""
    place = page.file.src_uri
    here = next((source for source, at in BESIDE_CODE.items() if at == place), "docs/" + place)

    def resolve(link):
        start, path, anchor = link.group(1), link.group(2), link.group(3) or ""
        if not path or re.match(r"[a-z]+:|/", path):
            return link.group(0)
        target = os.path.normpath(os.path.join(os.path.dirname(here), path))
        on_disk = os.path.join(ROOT, target)
        if not os.path.exists(on_disk):
            raise PluginError(f"{here}: the link {path} leads nowhere")
        if os.path.isdir(on_disk) and os.path.exists(os.path.join(on_disk, "README.md")):
            target += "/README.md"
        if target == "README.md":
            target = "docs/README.md"
            anchor = ""
        if target in BESIDE_CODE or (target.startswith("docs/") and target != here and files.get_file_from_path(target[5:])):
            to = BESIDE_CODE.get(target, target[5:])
            return start + os.path.relpath(to, os.path.dirname(place) or ".") + anchor
        kind = "tree" if os.path.isdir(on_disk) else "blob"
        return f"{start}{config['repo_url'].rstrip('/')}/{kind}/main/{target}{anchor}"

    code = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.M | re.S)
    return "".join(part if part.startswith("`") else LINK.sub(resolve, part) for part in code.split(markdown))
