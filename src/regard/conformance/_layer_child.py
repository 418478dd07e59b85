"""The child process of `isolation`: builds one layer, tries its laws, and reports each verdict as a message."""

from dataclasses import asdict

from regard.conformance.requests import CheckRequest, build_subject
from regard.conformance.verdict import error_line
from regard.core.errors import RegardError
from regard.core.processes import GIB, Channel, limit_resources

# Address space that numerical libraries reserve while they are loaded, most of it never used.
_LIBRARIES = 16 * GIB


def check_layer(channel: Channel) -> None:
    """Works off one request."""
    message = next(iter(channel))
    try:
        _check(CheckRequest.from_dict(message["request"]), int(message["memory"]), channel)
    except RegardError as error:
        channel.send(event="refused", reason=str(error))
    except Exception as error:  # noqa: BLE001 - building a layer may raise anything
        channel.send(event="failed", reason=error_line(error))


def _check(request: CheckRequest, memory: int, channel: Channel) -> None:
    from regard.conformance.judging import chosen_laws, expected
    from regard.conformance.reproduction import try_law

    limit_resources(memory=memory + _LIBRARIES)
    subject, inferred = build_subject(request, lambda stage: channel.send(event="stage", stage=stage))
    limit_resources(memory=memory)
    laws = chosen_laws(None if request.laws is None else ",".join(request.laws))
    channel.send(event="built", name=subject.name, spec=asdict(subject.spec), inferred=inferred)
    for law in laws.values():
        channel.send(event="trying", law=law.id)
        verdict = expected(try_law(law, subject, request), request.expect)
        channel.send(event="verdict", verdict=asdict(verdict))
