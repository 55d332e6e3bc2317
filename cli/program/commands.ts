import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'

type CommandModule = {
  group: string
  description: string
  load(): Promise<{ addCommands(command: Command, terminal: Terminal): void }>
}

const work = 'Plant:'
const people = 'Users, access and API:'
const signingIn = 'Sign-in:'
const floor = 'Shop floor:'
const operation = 'Operations, on the machine of the platform:'

/**
 * All commands, in the order of the help. A command's module is loaded only when needed, because its imports are large.
 */
export const commandModules: Readonly<Record<string, CommandModule>> = {
  login: { group: signingIn, description: 'sign in to a platform', load: () => import('../session/login.ts') },
  logout: { group: signingIn, description: 'sign out', load: () => import('../session/logout.ts') },
  whoami: {
    group: signingIn,
    description: 'your user, tenant, roles and permissions',
    load: () => import('../session/whoami.ts'),
  },
  profiles: {
    group: signingIn,
    description: 'platforms that you are signed in to',
    load: () => import('../session/profile-commands.ts'),
  },
  token: {
    group: signingIn,
    description: 'print an access token, for other programs',
    load: () => import('../session/token.ts'),
  },
  sessions: {
    group: signingIn,
    description: 'your sign-in sessions: list, confirm and end them',
    load: () => import('../session/sessions.ts'),
  },
  'step-up': {
    group: signingIn,
    description: 'confirm your identity for dangerous actions',
    load: () => import('../session/step-up-command.ts'),
  },

  assets: {
    group: work,
    description: 'devices, gateways, software and other assets',
    load: () => import('../inventory/assets.ts'),
  },
  relations: { group: work, description: 'relations between assets', load: () => import('../inventory/relations.ts') },
  graph: {
    group: work,
    description: 'dependency graph of an asset: as a tree, for Graphviz or Mermaid',
    load: () => import('../inventory/graph.ts'),
  },
  path: { group: work, description: 'shortest path between two assets', load: () => import('../inventory/path.ts') },
  impact: {
    group: work,
    description: 'assets that depend on an asset, or that are lost if it fails',
    load: () => import('../inventory/impact.ts'),
  },
  'impact-reports': {
    group: work,
    description: 'saved results of impact analyses',
    load: () => import('../inventory/impact-reports.ts'),
  },
  hierarchy: {
    group: work,
    description: 'trees of sites, buildings, lines and cells, and the assets in them',
    load: () => import('../hierarchy/hierarchy.ts'),
  },
  import: {
    group: work,
    description: 'import assets from a spreadsheet, CSV, NDJSON or AASX file',
    load: () => import('../files/import.ts'),
  },
  imports: {
    group: work,
    description: 'past imports, their reports, templates and mappings of columns',
    load: () => import('../files/imports.ts'),
  },
  export: {
    group: work,
    description: 'export assets, relations, hierarchies, graphs or the audit trail to a file',
    load: () => import('../files/export.ts'),
  },
  exports: { group: work, description: 'exports of the last 24 hours', load: () => import('../files/exports.ts') },
  scan: {
    group: work,
    description: 'scan a network from this machine, without a platform',
    load: () => import('../scan/scan.ts'),
  },
  discover: {
    group: work,
    description: 'scan for devices with a link of a gateway',
    load: () => import('../discovery/discover.ts'),
  },
  discoveries: {
    group: work,
    description: 'scans, their schedules and reports',
    load: () => import('../discovery/discoveries.ts'),
  },
  receipt: {
    group: work,
    description: 'receipts of scans: what was sent to each device',
    load: () => import('../discovery/receipt.ts'),
  },
  inbox: {
    group: work,
    description: 'review of new assets, decisions that can be undone, onboarding rules',
    load: () => import('../inbox/inbox.ts'),
  },
  monitor: {
    group: work,
    description: 'reachability, firmware and properties of devices, checked by schedule',
    load: () => import('../monitoring/monitor.ts'),
  },
  connect: {
    group: work,
    description: 'connect to an asset through its gateway: terminal, web page or TCP port',
    load: () => import('../remote-access/connect.ts'),
  },
  remote: {
    group: work,
    description: 'remote sessions, approvals, recordings, policies and file copies',
    load: () => import('../remote-access/remote.ts'),
  },
  updates: {
    group: work,
    description: 'firmware and other artefacts, update campaigns, versions in use',
    load: () => import('../updates/updates.ts'),
  },
  credentials: {
    group: work,
    description: 'device credentials (write-only)',
    load: () => import('../credentials/credentials.ts'),
  },
  jobs: { group: work, description: 'jobs of all workflows', load: () => import('../discovery/jobs.ts') },
  activity: {
    group: work,
    description: 'what changed, when, and who did it',
    load: () => import('../activity/activity.ts'),
  },
  events: { group: work, description: 'stored and live events', load: () => import('../events/events.ts') },
  webhooks: {
    group: work,
    description: 'events sent to other systems over HTTP, and their log',
    load: () => import('../webhooks/webhooks.ts'),
  },
  mqtt: {
    group: work,
    description: 'events published on an MQTT broker, and their log',
    load: () => import('../webhooks/mqtt.ts'),
  },
  properties: {
    group: work,
    description: 'custom properties',
    load: () => import('../inventory/properties.ts'),
  },
  schemas: { group: work, description: 'asset schemas', load: () => import('../inventory/schemas.ts') },
  plant: {
    group: work,
    description: 'generated plants for demos and benchmarks',
    load: () => import('../plant/plant.ts'),
  },

  access: {
    group: people,
    description: 'users, service accounts, roles, access groups, grants, identity providers and sign-in policy',
    load: () => import('../access/access.ts'),
  },
  audit: { group: people, description: 'audit trail', load: () => import('../access/audit.ts') },
  api: { group: people, description: 'call any operation of the API', load: () => import('../api/api.ts') },

  gateway: {
    group: floor,
    description: 'run a gateway, and manage gateways',
    load: () => import('../gateway/gateway.ts'),
  },
  link: {
    group: floor,
    description: 'create, test and run links',
    load: () => import('../gateway/link.ts'),
  },

  doctor: {
    group: operation,
    description: 'diagnose problems',
    load: () => import('../server/doctor/doctor.ts'),
  },
  backup: {
    group: operation,
    description: 'back up the database to one file',
    load: () => import('../server/backup.ts'),
  },
  restore: {
    group: operation,
    description: 'restore a backup to an empty home',
    load: () => import('../server/restore.ts'),
  },
  config: {
    group: operation,
    description: 'show all settings and their values, secrets masked',
    load: () => import('../server/config.ts'),
  },
  tenants: {
    group: operation,
    description: 'tenants of this installation',
    load: () => import('../server/tenants.ts'),
  },
  users: {
    group: operation,
    description: 'emergency reset of passwords and second factors',
    load: () => import('../server/users.ts'),
  },
  keys: {
    group: operation,
    description: 'master key, data keys and signing keys',
    load: () => import('../server/keys.ts'),
  },
  tls: {
    group: operation,
    description: 'certificate of the platform, for trials',
    load: () => import('../server/tls.ts'),
  },
  database: {
    group: operation,
    description: 'database distribution (Citus)',
    load: () => import('../server/database.ts'),
  },

  completion: {
    group: 'Other:',
    description: 'completion script for bash, zsh or fish',
    load: () => import('../completion/completion.ts'),
  },
}

export const startGroup = 'Start:'
