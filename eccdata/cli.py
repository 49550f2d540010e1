"""The command line: each verb of the package as a command. Thin: what a verb does is its own module's business."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

import eccdata
from eccdata import cli_flops, cli_report, cli_train
from eccdata.errors import EccdataError
from eccdata.settings import parse_pairs
from eccdata.terminal import FAILED, MISUSE, err, out, progress_bar, tell

app = typer.Typer(
    rich_markup_mode="rich",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Benchmarks of the memory of language and vision-language models: build them, run them, "
        "read the results with SQL.\n\n"
        "New here? [bold]eccdata demo[/bold] shows the whole way in under a minute, without a server or a GPU.\n\n"
        "[dim]Exit codes: 0 done, 1 incomplete or failed, 2 misuse, 130 interrupted.[/dim]"
    ),
)

DataDirs = Annotated[
    list[str] | None,
    typer.Option(
        "--data-dir", metavar="SOURCE=PATH", help="The folder of your own copy of a source; may be repeated."
    ),
]


def _version(wanted: bool) -> None:
    if wanted:
        out.print(f"eccdata {eccdata.__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


@app.command(name="list")
def list_(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A benchmark, a configuration (eccbench/text), a protocol or a system; all if none."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Show what can be built, asked, run and read; of one of them, every setting and its default.

    \b
    [bold]Examples[/bold]
    eccdata list
    eccdata list eccbench/text
    eccdata list window
    """
    from eccdata import listing

    items = listing.items(name)
    if json:
        print(listing.as_json(items))  # noqa: T201
    else:
        out.print(listing.render(items, detailed=name is not None))


@app.command()
def build(
    benchmark: Annotated[str, typer.Argument(help="Which benchmark, such as eccbench.")],
    folder: Annotated[Path, typer.Option("--out", "-o", help="The release's folder; made by this command.")],
    config: Annotated[
        list[str] | None,
        typer.Option("--config", "-c", help="A configuration; may be repeated. All if none."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Root of all randomness.")] = 0,
    num_proc: Annotated[
        int, typer.Option(min=1, help="Worker processes; the bytes are the same with any.")
    ] = 1,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A builder's setting; may be repeated."),
    ] = None,
    data_dir: DataDirs = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder that is there.")] = False,
) -> None:
    """Build a release: Parquet, dataset card, Croissant metadata, manifests and checksums.

    \b
    [bold]Examples[/bold]
    eccdata build eccbench -c text -c easyhuman-text -o release
    eccdata build eccbench -c text --set lengths=512,1024 --seed 7 -o release-7
    eccdata build eccbench -c tokens --num-proc 2 -o tokens
    eccdata build eccbench -c natural --data-dir epic=EPIC-KITCHENS -o natural
    """
    with progress_bar() as progress:
        release = eccdata.build(
            benchmark,
            out=folder,
            configs=config or None,
            seed=seed,
            num_proc=num_proc,
            settings=parse_pairs(settings or (), "--set"),
            data_dirs=parse_pairs(data_dir or (), "--data-dir"),
            force=force,
            progress=progress,
        )
    tell(release)


@app.command()
def verify(
    folder: Annotated[Path, typer.Argument(help="A release's folder.")],
    data_dir: DataDirs = None,
) -> None:
    """Check a release: checksums, schemas, counts, and every answer that can be worked out again.

    \b
    [bold]Examples[/bold]
    eccdata verify release
    """
    with progress_bar() as progress:
        verification = eccdata.verify(
            folder, data_dirs=parse_pairs(data_dir or (), "--data-dir"), progress=progress
        )
    tell(verification)
    if not verification.ok:
        raise typer.Exit(FAILED)


@app.command()
def evaluate(
    dataset: Annotated[str, typer.Argument(help="A release's folder or a dataset's id on the Hub.")],
    folder: Annotated[Path, typer.Option("--out", "-o", help="The run's folder, such as results/NAME.")],
    system: Annotated[str, typer.Option("--system", "-s", help="Who answers; see eccdata list.")],
    protocol: Annotated[
        str | None,
        typer.Option("--protocol", "-p", help="How it is asked; if none, the only way that fits the data."),
    ] = None,
    config: Annotated[str | None, typer.Option("--config", "-c", help="The dataset's configuration.")] = None,
    split: Annotated[str | None, typer.Option(help="The dataset's split; test if none.")] = None,
    benchmark: Annotated[
        str | None, typer.Option(help="The benchmark, where the dataset does not say it itself.")
    ] = None,
    revision: Annotated[str | None, typer.Option(help="The Hub dataset's revision.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="The server's address, such as http://HOST:PORT/v1.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The served model's name.")] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="A system's option; may be repeated."),
    ] = None,
    arm: Annotated[str | None, typer.Option(help="The error cost: none, a (+3/-1) or b (+1/-4).")] = None,
    max_tokens: Annotated[int | None, typer.Option(help="The most tokens of a reply.")] = None,
    protocol_option: Annotated[
        list[str] | None,
        typer.Option("--protocol-option", metavar="NAME=VALUE", help="A protocol's option; may be repeated."),
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="SQL", help="Only the rows for which this is true.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many questions.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Requests in flight at once.")] = 64,
    accept_changed_server: Annotated[
        bool, typer.Option("--accept-server", help="Go on though the server is not as it was.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Discard the run that the folder holds.")] = False,
    accept_audit_failures: Annotated[
        bool,
        typer.Option("--accept-audit", help="Go on though the model saw other frames than were sent."),
    ] = False,
) -> None:
    """Put a dataset's questions to a system and keep every response. Killed or failed? Run it again: it goes on.

    \b
    [bold]Examples[/bold]
    eccdata evaluate release -c text -s window --option bits=2048 -o results/w
    eccdata evaluate release -c text -s sglang --base-url URL --arm a -o results/a
    eccdata evaluate release -c text -s exact --where "length <= 64" -o results/e
    eccdata evaluate somebody/eccbench -c text -s exact --limit 100 -o results/hub
    """
    options = parse_pairs(option or (), "--option")
    options |= {k: v for k, v in (("base_url", base_url), ("model", model)) if v is not None}
    asked: dict[str, Any] = dict(parse_pairs(protocol_option or (), "--protocol-option"))
    asked |= {k: v for k, v in (("arm", arm), ("max_tokens", max_tokens)) if v is not None}
    with progress_bar() as progress:
        run = eccdata.evaluate(
            dataset,
            config=config,
            split=split,
            benchmark=benchmark,
            revision=revision,
            protocol=protocol,
            options=asked,
            system=system,
            system_options=options,
            out=folder,
            where=where,
            limit=limit,
            concurrency=concurrency,
            accept_changed_server=accept_changed_server,
            accept_audit_failures=accept_audit_failures,
            force=force,
            progress=progress,
        )
    tell(run)
    if not run.complete:
        raise typer.Exit(FAILED)


@app.command()
def tables(
    results: Annotated[list[Path], typer.Argument(help="Run folders, or folders that hold runs.")],
    folder: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where to write CSV, Markdown and LaTeX.")
    ] = None,
    table: Annotated[
        list[str] | None, typer.Option("--table", "-t", help="Only this table; may be repeated.")
    ] = None,
    benchmark: Annotated[str | None, typer.Option(help="Only this benchmark's tables.")] = None,
) -> None:
    """Work out the paper's tables from results, each by one SQL query, and say what was missing for each.

    \b
    [bold]Examples[/bold]
    eccdata tables results
    eccdata tables results/a results/b --table calibration --out tables
    """
    from eccdata.analysis.runs import find_runs

    for note in find_runs(results)[1]:
        err.print(f"Note: {note}", markup=False, highlight=False, soft_wrap=True)
    with progress_bar() as progress:
        made = eccdata.tables(
            results, out=folder, benchmark=benchmark, names=table or None, progress=progress
        )
    for one in made:
        if folder is None or table or one.error:  # what is written down need not run past as well
            tell(one)
    if folder is not None:
        there = sum(one.made for one in made)
        told = f"{there} tables of {len(made)} are in {folder}; its README.md says what was missing for each."
        out.print(told, markup=False, highlight=False, soft_wrap=True)
    if any(one.error or (table and not one.made) for one in made):
        raise typer.Exit(FAILED)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(help="One SELECT over the views `responses` and `runs`.")],
    results: Annotated[list[Path], typer.Argument(help="Run folders, or folders that hold runs.")],
    format: Annotated[  # noqa: A002
        Literal["table", "csv", "json", "parquet"] | None,
        typer.Option(
            "--format", "-f", help="How to give the rows; what the file's ending says, else a table."
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option("--out", "-o", help="A file instead of the terminal.")] = None,
) -> None:
    """Ask results anything in DuckDB's SQL. Nothing that a query does changes a result.

    \b
    [bold]Examples[/bold]
    eccdata sql "select band, avg(correct::int) from responses group by 1" results
    eccdata sql "from responses where abstention = 'format'" results --format json
    eccdata sql "from runs" results --format parquet --out runs.parquet
    """
    if format == "parquet" and file is None and sys.stdout.isatty():
        raise EccdataError("Parquet is not for a terminal: name a file with --out, or send it to a pipe.")
    answer = eccdata.sql(query, results, format=format, out=file)
    if isinstance(answer, bytes):
        sys.stdout.buffer.write(answer)
    elif isinstance(answer, str):
        sys.stdout.write(answer)  # as it is: rich would take `:x:` for a picture and tabs for spaces
    else:
        tell(answer)


app.command()(cli_report.report)
app.add_typer(cli_flops.app, name="flops")
app.command()(cli_train.train)
app.command()(cli_train.study)


@app.command()
def push(
    folder: Annotated[Path, typer.Argument(help="A release's folder.")],
    repo_id: Annotated[str, typer.Option(help="The dataset's id on the Hub, such as somebody/eccbench.")],
    revision: Annotated[str | None, typer.Option(metavar="TAG", help="Tag the commit so.")] = None,
    branch: Annotated[str | None, typer.Option(help="The branch; main if none.")] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Make the repository private if it is new.")
    ] = False,
    create_pr: Annotated[bool, typer.Option("--create-pr", help="Open a pull request instead.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Verify a release and put it on the Hub in one commit. Sources that may not be redistributed never leave.

    The token is the one of `hf auth login` or of the environment variable HF_TOKEN.

    \b
    [bold]Examples[/bold]
    eccdata push release --repo-id somebody/eccbench --dry-run
    eccdata push release --repo-id somebody/eccbench --revision v1.0.0
    """
    with progress_bar() as progress:
        pushed = eccdata.push(
            folder,
            repo_id=repo_id,
            branch=branch,
            tag=revision,
            private=private,
            create_pr=create_pr,
            dry_run=dry_run,
            progress=progress,
        )
    tell(pushed)


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="A release's folder.")],
    config: Annotated[str, typer.Option("--config", "-c", help="The configuration.")],
    question: Annotated[str, typer.Option("--question", "-q", help="The question's id.")],
    file: Annotated[
        Path,
        typer.Option("--out", "-o", help="A .png for a contact sheet, a .html for a page with both videos."),
    ],
) -> None:
    """Draw one question as a person sees it: stream and candidate, the match marked, and the answer.

    \b
    [bold]Examples[/bold]
    eccdata show release -c text -q text-L0064-low-s00-q00 -o question.html
    eccdata show release -c video-spatial -q video-spatial-L0016-max-s03-q05 -o q.png
    """
    from eccdata.show import show as draw

    tell(f"{draw(folder, config=config, question=question, out=file)} is written.")


@app.command()
def demo(
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where everything goes.")] = Path("demo"),
) -> None:
    """Show the whole way on built-in memories: build, evaluate under three arms, read the tables.

    \b
    [bold]Examples[/bold]
    eccdata demo
    eccdata demo --out somewhere
    """
    from eccdata.demo import demo as run

    with progress_bar() as progress:
        shown = run(folder, progress=progress)
    tell(shown)


def main() -> None:
    """Run the command line; a user's mistake is one message on stderr and exit code 2."""
    try:
        app()
    except EccdataError as error:
        err.print("[bold red]Error:[/bold red]", end=" ")
        err.print(str(error), markup=False, highlight=False, soft_wrap=True)
        sys.exit(MISUSE)


if __name__ == "__main__":
    main()
