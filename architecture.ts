/** The import rules as data. `architecture.test.ts` checks the code, the README and the migrations against them. */

type Module = {
  /** The purpose of the folder, as in the table of the README. */
  purpose: string
  /** The modules that this module can import, in addition to itself. */
  mayImport: readonly string[]
}

/** Modules by folder. A file belongs to the module with the longest matching path. */
export const modules: Readonly<Record<string, Module>> = {
  api: {
    purpose: 'Contracts of all services, error codes, permissions, the typed client, back-off, semaphore',
    mayImport: [],
  },
  'cloud/platform': {
    purpose: 'The base of all services: database, access, audit, events, tasks, HTTP',
    mayImport: ['api'],
  },
  'cloud/platform/testing': {
    purpose: 'The test kit: starts all services for a test, with a separate tenant',
    mayImport: [
      'api',
      'cloud',
      'cloud/platform',
      'cloud/services/events',
      'cloud/services/identity',
      'cloud/services/monitoring',
      'cloud/services/remote-access',
      'cloud/services/updates',
      'cloud/services',
      'architecture',
    ],
  },
  'cloud/front': { purpose: 'The API gateway: tokens, permissions, rate limits', mayImport: ['api', 'cloud/platform'] },
  'cloud/services': {
    purpose: 'The list of services',
    mayImport: [
      'cloud/platform',
      'cloud/services/activity',
      'cloud/services/audit',
      'cloud/services/authorization',
      'cloud/services/credentials',
      'cloud/services/discovery',
      'cloud/services/events',
      'cloud/services/exports',
      'cloud/services/gatekeeper',
      'cloud/services/hierarchy',
      'cloud/services/identity',
      'cloud/services/imports',
      'cloud/services/inbox',
      'cloud/services/inventory',
      'cloud/services/inventory-v1',
      'cloud/services/jobs',
      'cloud/services/monitoring',
      'cloud/services/onboarding',
      'cloud/services/remote-access',
      'cloud/services/updates',
      'cloud/services/workflows',
    ],
  },
  'cloud/services/activity': {
    purpose: 'The activity: changes of assets and audit entries as one list for people',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/audit': { purpose: 'The audit trail: list, export, verify', mayImport: ['api', 'cloud/platform'] },
  'cloud/services/authorization': {
    purpose: 'Roles, access groups, grants, and explanations of access',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/credentials': {
    purpose: 'Device credentials: schemas, instances, address ranges, deliveries',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/discovery': {
    purpose: 'Discoveries, their runs and reports, the links of gateways',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/events': {
    purpose: 'The list and the stream of events, webhooks and MQTT publishers',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/exports': {
    purpose: 'Exports of assets, relations, hierarchies and the audit trail as files',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/gatekeeper': {
    purpose: 'The API for gateways: leases, uploads, credentials',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/hierarchy': {
    purpose: 'Trees of nodes, and the assignment of assets to nodes',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/identity': {
    purpose: 'Users, service accounts, sign-in, tokens',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/imports': {
    purpose: 'Imports of assets from files: spreadsheets, CSV, NDJSON, Asset Administration Shells',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/inbox': {
    purpose: 'Review of new assets: decisions that can be undone, onboarding rules',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/inventory': {
    purpose: 'Assets, identifiers, relations, search, history',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/inventory-v1': {
    purpose: 'The inventory API of version 1',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/jobs': { purpose: 'The list of all jobs', mayImport: ['api', 'cloud/platform'] },
  'cloud/services/monitoring': {
    purpose: 'Monitoring of devices: reachability, firmware and chosen properties, once or by schedule',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/onboarding': {
    purpose: 'Onboarding and revocation of gateways',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/remote-access': {
    purpose: 'Connections to assets through their gateways: ssh, web pages and TCP ports',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/updates': {
    purpose: 'The update hub: artefacts, campaigns that install them on devices, versions in use',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/workflows': {
    purpose: 'Workflows (state machines as data) and their jobs',
    mayImport: ['api', 'cloud/platform'],
  },
  cloud: {
    purpose: 'Composition of the platform: settings, database, services, front',
    mayImport: ['api', 'architecture', 'cloud/front', 'cloud/platform', 'cloud/services', 'cloud/services/identity'],
  },
  gateway: { purpose: 'The gateway on a shop floor; uses only the public API', mayImport: ['api'] },
  'link-sdk': {
    purpose: 'The SDK for asset links and its conformance suite',
    mayImport: ['api'],
  },
  links: { purpose: 'Asset links, one folder per protocol', mayImport: ['api', 'link-sdk'] },
  web: { purpose: 'The console; uses only the public API', mayImport: ['api', 'tools'] },
  cli: {
    purpose: 'The command line',
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
    purpose: 'Benchmarks',
    mayImport: [
      'tools',
      'api',
      'cloud',
      'cloud/platform',
      'cloud/platform/testing',
      'cloud/services/discovery',
      'cloud/services/events',
      'cloud/services/identity',
      'cloud/services/inventory',
      'cloud/services/workflows',
      'e2e',
      'web',
      'gateway',
      'links',
    ],
  },
  e2e: {
    purpose: 'End-to-end tests of the complete product',
    mayImport: ['api', 'cli', 'cloud', 'cloud/platform', 'gateway', 'tools'],
  },
  deploy: {
    purpose: 'Files of the archive: installation script, systemd units, container',
    mayImport: [],
  },
  'docs/examples': {
    purpose: 'Programs of the guides, without dependencies',
    mayImport: [],
  },
  tools: {
    purpose: 'Development tools: checks, test runner, generators',
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
  architecture: {
    purpose: 'The files `architecture.ts` (the import rules) and `architecture.test.ts` (the test that enforces them)',
    mayImport: [],
  },
}

/** Modules that the tests of every module can import. */
export const testsMayAlsoImport: readonly string[] = [
  'api',
  'architecture',
  'cloud',
  'cloud/platform',
  'cloud/platform/testing',
  'cloud/services',
  'cloud/services/events',
  'cloud/services/remote-access',
  'cloud/services/hierarchy',
  'cloud/services/identity',
  'cloud/services/inventory',
  'cloud/services/monitoring',
  'cloud/services/updates',
  'cloud/services/workflows',
  'link-sdk',
  'links',
]

/** For each of these packages, the only folders and files that can import it. */
export const restrictedPackages: Readonly<Record<string, readonly string[]>> = {
  fastify: ['cloud/platform/http'],
  '@fastify/cors': ['cloud/platform/http'],
  pg: ['cloud/platform/database'],
  'prom-client': ['cloud/platform/metrics.ts'],
  pino: ['cloud/platform/log.ts', 'gateway/log.ts'],
  croner: ['cloud/platform/tasks'],
  hucre: ['cloud/platform/files'],
  yauzl: ['cloud/platform/files'],
  '@fastify/busboy': ['cloud/platform/http'],
  commander: ['cli'],
  marked: ['cloud/documentation'],
}

/** Files and folders that open connections as the database owner. They can import the types of the database driver. */
export const ownerConnectionUsers: readonly string[] = [
  'cloud/platform/service.ts',
  'cloud/platform/tenants',
  'cloud/platform/postgres',
  'cloud/services/identity/signing-keys/signing-key-store.ts',
  'bench',
]

/** File names that do not say what a file contains. No file can have such a name. */
export const meaninglessNames: readonly string[] = [
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

/**
 * Shared tables that tables of tenants reference. On a Citus cluster they are reference tables: every node has a copy, and
 * a write needs every node. The application never writes them.
 */
export const referenceTables = ['master_keys', 'platform_keys'] as const

/**
 * All other shared tables. On a Citus cluster they stay on the coordinator, so that a write depends on no worker. Tables of
 * tenants cannot reference them there.
 */
export const coordinatorTables = ['tenants', 'directory', 'platform_secrets', 'signing_keys'] as const

/**
 * The table with one row per tenant. On a Citus cluster it is distributed by tenant, and the foreign keys to `tenants`
 * reference it instead.
 */
export const tenantRows = 'access_versions'

/**
 * All tables that are read before the tenant of a request is known, or for many tenants at once. `access_versions` is
 * distributed by tenant, and every process reads the versions of all tenants that it serves.
 */
export const sharedTables = [...referenceTables, ...coordinatorTables, tenantRows] as const
