# dpproxy in an image. The parser is PostgreSQL's own, in C: build and run on glibc.
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN go build -trimpath -ldflags="-s -w" -o /dpproxy ./cmd/dpproxy

FROM debian:12.11-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates tzdata \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --home-dir /var/lib/dpproxy --create-home dpproxy
COPY --from=build /dpproxy /usr/local/bin/dpproxy
USER dpproxy
WORKDIR /var/lib/dpproxy
EXPOSE 6432 6480 9187
ENTRYPOINT ["dpproxy"]
CMD ["serve", "--policy", "/etc/dpproxy/policy.yaml"]
