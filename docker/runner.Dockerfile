# The runner for workers with containers, which mount this image at /agent in the image of a run and start /agent/entrypoint.sh there.
# Build from the root of the repository: docker build -f docker/runner.Dockerfile -t millwright-runner .
# The runner imports nothing but Node's own modules, so the program alone is enough. Node.js is built for glibc: images of runs, too.

FROM node:22-bookworm-slim AS build
ENV SCARF_ANALYTICS=false
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN --mount=type=cache,target=/root/.npm npm ci
COPY tsconfig.json nest-cli.json ./
COPY src ./src
RUN npm run build

# The agent CLIs, each with what it needs, for runs whose image has none: --build-arg AGENT_CLIS="@openai/codex@0.169.0 …".
FROM node:22-bookworm-slim AS clis
ARG AGENT_CLIS=""
RUN --mount=type=cache,target=/root/.npm mkdir -p /clis \
    && if [ -n "$AGENT_CLIS" ]; then npm install --prefix /clis --no-audit --no-fund $AGENT_CLIS; fi

FROM node:22-bookworm-slim
COPY --from=build /app/dist/execution/runner /agent/dist/execution/runner
COPY --from=build /app/dist/execution/protocol /agent/dist/execution/protocol
COPY --from=clis /clis /agent/clis
COPY package.json LICENSE /agent/
COPY docker/runner-entrypoint.sh /agent/entrypoint.sh
RUN mkdir /agent/bin && cp /usr/local/bin/node /agent/bin/node
ENTRYPOINT ["/agent/entrypoint.sh"]
