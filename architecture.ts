/** The map of the house as data. `architecture.test.ts` holds the code, the README and the migrations to it. */

type Room = {
  /** What it is for: the README's table says the same. */
  holds: string
  /** Which rooms it may import from; its own files are always allowed. */
  mayImport: readonly string[]
}

/** A file belongs to the room with the longest path that it starts with. */
export const rooms: Readonly<Record<string, Room>> = {
  api: {
    holds: 'What every part shares: contracts, the one error, the typed client, back-off and semaphore',
    mayImport: [],
  },
  'cloud/platform': { holds: 'What every service stands on, and knows none of them', mayImport: ['api'] },
  'cloud/platform/testing': {
    holds: 'The test kit: a whole hub with a tenant of its own',
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
  'cloud/services/audit': { holds: 'Who did what: list, export, verify', mayImport: ['api', 'cloud/platform'] },
  'cloud/services/authorization': {
    holds: 'Roles, access groups, grants, and why',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/credentials': {
    holds: 'What gateways need to get into devices: schemas, instances and their secrets, where they apply',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/discovery': {
    holds: 'Finding devices: discoveries, their runs and reports, the links of gateways',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/events': { holds: 'What changed, in order', mayImport: ['api', 'cloud/platform'] },
  'cloud/services/gatekeeper': {
    holds: 'Where gateways ask for work and hand in what they found',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/identity': { holds: 'Users, server users, sign-in, tokens', mayImport: ['api', 'cloud/platform'] },
  'cloud/services/inventory': {
    holds: 'Assets, their identifiers, and how they hang together',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/inventory-v1': {
    holds: 'The inventory as clients of its version 1 know it',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/jobs': { holds: 'All jobs, whatever their type', mayImport: ['api', 'cloud/platform'] },
  'cloud/services/onboarding': {
    holds: 'Bringing gateways in, and sending them away',
    mayImport: ['api', 'cloud/platform'],
  },
  'cloud/services/workflows': {
    holds: 'State machines as data, jobs as their instances',
    mayImport: ['api', 'cloud/platform'],
  },
  cloud: {
    holds: 'Brings the cloud part together: settings, database, services, front',
    mayImport: ['api', 'architecture', 'cloud/front', 'cloud/platform', 'cloud/services', 'cloud/services/identity'],
  },
  gateway: { holds: 'The asset gateway of a shop floor; reaches the cloud only through the API', mayImport: ['api'] },
  'link-sdk': {
    holds: 'Everything that the author of an asset link needs, and the suite that says whether it is one',
    mayImport: ['api'],
  },
  links: { holds: 'Asset links, one folder per protocol', mayImport: ['api', 'link-sdk'] },
  web: { holds: 'The console; reaches the cloud only through the API', mayImport: ['api', 'tools'] },
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
    holds: 'Figures: what the hot paths cost',
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
    ],
  },
  e2e: { holds: 'The product as a user meets it', mayImport: ['api', 'cloud', 'cloud/platform'] },
  tools: {
    holds: 'What runs and checks the house',
    mayImport: ['api', 'cloud', 'cloud/platform', 'cloud/platform/testing', 'cloud/services/workflows', 'e2e'],
  },
  architecture: { holds: 'This map, and the test that holds the code to it', mayImport: [] },
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
  croner: ['cloud/platform/jobs'],
  commander: ['cli'],
}

/** The driver's type of an owner's connection is known where the owner's work is done. */
export const ownersWork: readonly string[] = [
  'cloud/platform/service.ts',
  'cloud/platform/tenants',
  'cloud/platform/postgres',
  'cloud/services/identity/signing-key-store.ts',
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
