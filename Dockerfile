# Any Node.js release allowed by "engines" in package.json.
ARG NODE=24

FROM node:${NODE}-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY scripts scripts
COPY src src
COPY projections projections
COPY bench bench
COPY docs docs
COPY test/support/esdb-writing test/support/esdb-writing
# The folder that the link `dist` names.
RUN npm run build && cp -rL dist /built && npm prune --omit=dev

FROM node:${NODE}-slim
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /built dist
COPY affilog ./
RUN mkdir /data && chown node:node /data
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 DATA_DIR=/data
USER node
VOLUME /data
EXPOSE 3000
# The shell asks by itself: the image has no curl, and a Node.js process every five seconds would cost more than most requests.
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/$PORT && printf 'GET /health/ready HTTP/1.0\\r\\nHost: 127.0.0.1\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
ENTRYPOINT ["./affilog"]
CMD ["serve"]
