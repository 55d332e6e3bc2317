/** The import rules as data. `architecture.test.ts` checks the code, the README and the migrations against them. */

type Room = {
  /** The purpose of the folder, as in the table of the README. */
  holds: string
  /** Which rooms it may import from; its own files are always allowed. */
  mayImport: readonly string[]
}

/** A file belongs to the room with the longest path that it starts with. */
export const rooms: Readonly<Record<string, Room>> = {
  api: {
    holds: 'Contracts of all services, error codes, permissions, the typed client, back-off, semaphore',
    mayImport: [],
  },
  'cloud/platform': {
    holds: 'The base of all services: database, access, audit, events, tasks, HTTP',
    mayImport: ['api'],
  },
  'cloud/platform/testing': {
    holds: 'The test kit: all services with a separate tenant',
    mayImport: ['api', 'cloud', 'cloud/platform', 'cloud/services/identity', 'cloud/services', 'architecture'],
  },
  'cloud/front': { holds: 'The API gateway: tokens, permissions, rate limits', mayImport: ['api', 'cloud/platform'] },
  'cloud/services': {
    holds: 'The list of services',
    mayImport: [
      'cloud/platform',
      'cloud/services/audit',
      'cloud/services/authorization',
      'cloud/services/credentials',
      'cloud/services/discovery',
      'cloud/services/events',
      'cloud/services/gatekeeper',
      'cloud/services/identity',
      'cloud/services/inventory',
      'cloud/services/inventory-v1',
      'cloud/services/jobs',
      'cloud/services/onboarding',
      'cloud/services/workflows',
    ],
  },
  'cloud/services/audit': { holds: 'The audit trail: list, export, verify', mayImport: ['api', 'cloud/platform'] },
  'cloud/services/authorization': {
    holds: 'Roles, access groups, grants, and explanations of access',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/credentials': {
    holds: 'Device credentials: schemas, instances, address ranges, deliveries',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/discovery': {
    holds: 'Discoveries, their runs and reports, the links of gateways',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/events': { holds: 'The list and the stream of events', mayImport: ['api', 'cloud/platform'] },
  'cloud/services/gatekeeper': {
    holds: 'The API for gateways: leases, uploads, credentials',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/identity': {
    holds: 'Users, service accounts, sign-in, tokens',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/inventory': {
    holds: 'Assets, identifiers, relations, search, history',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/inventory-v1': {
    holds: 'The inventory API of version 1',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/jobs': { holds: 'The list of all jobs', mayImport: ['api', 'cloud/platform'] },
  'cloud/services/onboarding': {
    holds: 'Onboarding and revocation of gateways',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/workflows': {
    holds: 'Workflows (state machines as data) and their jobs',
    mayImport: ['api', 'cloud/platform'],
  },
  cloud: {
    holds: 'Composition of the platform: settings, database, services, front',
    mayImport: ['api', 'architecture', 'cloud/front', 'cloud/platform', 'cloud/services', 'cloud/services/identity'],
  },
  gateway: { holds: 'The gateway on a shop floor; uses only the public API', mayImport: ['api'] },
  'link-sdk': {
    holds: 'The SDK for asset links and its conformance suite',
    mayImport: ['api'],
  },
  links: { holds: 'Asset links, one folder per protocol', mayImport: ['api', 'link-sdk'] },
  web: { holds: 'The console; uses only the public API', mayImport: ['api', 'tools'] },
  cli: {
    holds: 'The command line',
    mayImport: [
      'api',
      'architecture',
      'cloud',
      'cloud/platform',
      'cloud/services/identity',
      'cloud/services/inventory',
      'gateway',
      'tools',
      'link-sdk',
      'links',
      'web',
    ],
  },
  bench: {
    holds: 'Benchmarks',
    mayImport: [
      'tools',
      'api',
      'cloud',
      'cloud/platform',
      'cloud/platform/testing',
      'cloud/services/identity',
      'cloud/services/inventory',
      'e2e',
      'web',
      'gateway',
      'links',
    ],
  },
  e2e: { holds: 'End-to-end tests of the complete product', mayImport: ['api', 'cloud', 'cloud/platform'] },
  tools: {
    holds: 'Development tools: checks, test runner, generators',
    mayImport: [
      'api',
      'cli',
      'cloud',
      'cloud/platform',
      'cloud/platform/testing',
      'cloud/services/workflows',
      'e2e',
      'gateway',
    ],
  },
  architecture: { holds: 'The import rules, and the test that enforces them', mayImport: [] },
}

/** Tests may use the test kit and the whole cloud, wherever they are. */
export const testsMayAlsoImport: readonly string[] = [
  'api',
  'architecture',
  'cloud',
  'cloud/platform',
  'cloud/platform/testing',
  'cloud/services',
  'cloud/services/events',
  'cloud/services/identity',
  'link-sdk',
  'links',
]

/** A library that one folder alone may know. */
export const keptTo: Readonly<Record<string, readonly string[]>> = {
  fastify: ['cloud/platform/http'],
  '@fastify/cors': ['cloud/platform/http'],
  pg: ['cloud/platform/database'],
  'prom-client': ['cloud/platform/metrics.ts'],
  pino: ['cloud/platform/log.ts', 'gateway/log.ts'],
  croner: ['cloud/platform/tasks'],
  commander: ['cli'],
}

/** The driver's type of an owner's connection is known where the owner's work is done. */
export const ownersWork: readonly string[] = [
  'cloud/platform/service.ts',
  'cloud/platform/tenants',
  'cloud/platform/postgres',
  'cloud/services/identity/signing-keys/signing-key-store.ts',
  'bench',
]

/** Names that say nothing. */
export const emptyNames: readonly string[] = [
  'utils',
  'util',
  'helpers',
  'helper',
  'common',
  'misc',
  'types',
  'constants',
  'shared',
  'lib',
  'index',
]

/** Tables that all tenants share, because they are looked at before the tenant of a request is known. */
export const referenceTables = [
  'tenants',
  'master_keys',
  'platform_keys',
  'platform_secrets',
  'directory',
  'access_versions',
  'signing_keys',
] as const
