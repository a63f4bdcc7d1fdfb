# floe as an image: docker build -t floe .
# docs/deploying.md#in-a-container says how to run it, and examples/compose starts it with PostgreSQL and a mail catcher.
FROM node:24-slim AS build
WORKDIR /source
# Packages are installed again only when these files change.
COPY package.json package-lock.json .npmrc ./
COPY bundled bundled
COPY bin/setup.mjs bin/node24.mjs bin/run.mjs bin/set-hooks.mjs bin/
RUN node bin/setup.mjs install
COPY . .
RUN node bin/build.mjs

# The packages that the built server reads at run time, in the versions of the lock file.
FROM node:24-slim AS packages
WORKDIR /opt/floe
COPY package.json package-lock.json .npmrc ./
RUN npm install --omit=dev --omit=peer --workspaces=false --ignore-scripts --loglevel=error && rm package-lock.json .npmrc

FROM node:24-slim
# Process 1 passes signals on and reaps the processes that others leave behind, which Node does not do.
RUN apt-get update && apt-get install --yes --no-install-recommends tini && rm -rf /var/lib/apt/lists/*
COPY --from=packages /opt/floe /opt/floe
COPY --from=build /source/dist /opt/floe/dist
COPY bin/floe.js bin/node24.mjs bin/run.mjs bin/health.mjs bin/package.json /opt/floe/bin/
RUN ln -s /opt/floe/bin/floe.js /usr/local/bin/floe && install --directory --owner=node --group=node --mode=0700 /data
# No VOLUME: hosts such as Railway refuse it, and a forgotten volume would lose the data without a word.
# V8 sets this room up before any code runs, so no setting of the program can. The default costs a third more memory.
ENV NODE_OPTIONS=--max-semi-space-size=8
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4455 FLOE_DATA_DIR=/data HOME=/data
# By number: Kubernetes cannot tell whether a name is root.
USER 1000:1000
WORKDIR /data
EXPOSE 4455
HEALTHCHECK --interval=10s --timeout=10s --start-period=60s --retries=3 CMD ["node", "/opt/floe/bin/health.mjs"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["tini", "-s", "--"]
CMD ["floe", "serve"]
