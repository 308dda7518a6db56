//! CloudEvents in binary mode on NATS.

use async_nats::HeaderMap;
use async_nats::header::{HeaderName, HeaderValue, IntoHeaderName as _, ParseHeaderValueError};
use outbox_relay::{Outgoing, header_value};

/// The [binding](https://github.com/cloudevents/spec/blob/main/cloudevents/bindings/nats-protocol-binding.md) maps every attribute,
/// `datacontenttype` too, to a header with `ce-` in front; `content-type` stands beside it for readers of other bindings.
pub(crate) fn headers(message: &Outgoing) -> Result<HeaderMap, ParseHeaderValueError> {
    let mut headers = HeaderMap::new();
    for (attribute, value) in message.attributes() {
        headers.insert(name(attribute), value_of(value)?);
    }
    headers.insert(HeaderName::from_static("ce-datacontenttype"), message.content_type().parse::<HeaderValue>()?);
    headers.insert(HeaderName::from_static("content-type"), message.content_type().parse::<HeaderValue>()?);
    for (own, value) in message.trace_context() {
        headers.insert(HeaderName::from_static(own), value_of(value)?);
    }
    Ok(headers)
}

fn value_of(value: &str) -> Result<HeaderValue, ParseHeaderValueError> {
    header_value(value).parse()
}

/// Names that nothing is allocated for, of the attributes that there are; of another it would be made.
fn name(attribute: &'static str) -> HeaderName {
    HeaderName::from_static(match attribute {
        "specversion" => "ce-specversion",
        "id" => "ce-id",
        "source" => "ce-source",
        "type" => "ce-type",
        "time" => "ce-time",
        "correlationid" => "ce-correlationid",
        "subject" => "ce-subject",
        "causationid" => "ce-causationid",
        "actor" => "ce-actor",
        "tenant" => "ce-tenant",
        "traceparent" => "ce-traceparent",
        "tracestate" => "ce-tracestate",
        "headers" => "ce-headers",
        other => return format!("ce-{other}").into_header_name(),
    })
}
