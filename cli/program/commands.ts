import type { Command } from 'commander'
import type { Terminal } from '../output/terminal.ts'

type Part = {
  group: string
  description: string
  load(): Promise<{ addCommands(command: Command, terminal: Terminal): void }>
}

const work = 'The plant:'
const people = 'People and programs:'
const signingIn = 'Signing in:'
const floor = 'The shop floor:'
const operation = 'Operating the platform, on its machine:'

/** What there is, in the order of the help. Each is loaded when it is asked for: what it stands on is large. */
export const parts: Readonly<Record<string, Part>> = {
  login: { group: signingIn, description: 'sign in to a platform', load: () => import('../session/login.ts') },
  logout: { group: signingIn, description: 'sign out', load: () => import('../session/logout.ts') },
  whoami: {
    group: signingIn,
    description: 'who you are, where, and what you may do',
    load: () => import('../session/whoami.ts'),
  },
  profiles: {
    group: signingIn,
    description: 'the platforms you are signed in to',
    load: () => import('../session/profile-commands.ts'),
  },
  token: {
    group: signingIn,
    description: 'an access token, for other programs',
    load: () => import('../session/token.ts'),
  },

  assets: {
    group: work,
    description: 'devices, gateways, software: everything with an identity',
    load: () => import('../inventory/assets.ts'),
  },
  relations: { group: work, description: 'how assets hang together', load: () => import('../inventory/relations.ts') },
  graph: {
    group: work,
    description: 'what hangs on an asset: as a tree, for Graphviz or Mermaid',
    load: () => import('../inventory/graph.ts'),
  },
  path: { group: work, description: 'the way from one asset to another', load: () => import('../inventory/path.ts') },
  discover: {
    group: work,
    description: 'find devices with a link of a gateway',
    load: () => import('../discovery/discover.ts'),
  },
  discoveries: {
    group: work,
    description: 'discoveries, their schedules and reports',
    load: () => import('../discovery/discoveries.ts'),
  },
  credentials: {
    group: work,
    description: 'what gateways need to get into devices; secrets go in and never come out',
    load: () => import('../credentials/credentials.ts'),
  },
  jobs: { group: work, description: 'jobs of every kind', load: () => import('../discovery/jobs.ts') },
  events: { group: work, description: 'what changes, as it happens', load: () => import('../events/events.ts') },
  properties: {
    group: work,
    description: 'properties of your own for assets',
    load: () => import('../inventory/properties.ts'),
  },
  schemas: { group: work, description: 'what an asset may look like', load: () => import('../inventory/schemas.ts') },
  plant: {
    group: work,
    description: 'made-up plants, for trying things out and for measuring',
    load: () => import('../plant/plant.ts'),
  },

  access: {
    group: people,
    description: 'users, server users, roles, access groups, grants, and why',
    load: () => import('../access/access.ts'),
  },
  audit: { group: people, description: 'who did what', load: () => import('../access/audit.ts') },
  api: { group: people, description: 'every operation of the API, as it is', load: () => import('../api/api.ts') },

  gateway: {
    group: floor,
    description: 'the asset gateway: bring it in, run it',
    load: () => import('../gateway/gateway.ts'),
  },
  link: {
    group: floor,
    description: 'asset links: write, test and run them',
    load: () => import('../gateway/link.ts'),
  },

  doctor: {
    group: operation,
    description: 'look for what is wrong, and say what to do',
    load: () => import('../server/doctor/doctor.ts'),
  },
  backup: {
    group: operation,
    description: 'everything in the database, in one file',
    load: () => import('../server/backup.ts'),
  },
  restore: {
    group: operation,
    description: 'bring a backup back, into an empty home',
    load: () => import('../server/restore.ts'),
  },
  config: {
    group: operation,
    description: 'the settings in effect, secrets masked',
    load: () => import('../server/config.ts'),
  },
  tenants: {
    group: operation,
    description: 'the tenants of this installation, kept apart in the database itself',
    load: () => import('../server/tenants.ts'),
  },
  users: {
    group: operation,
    description: 'people, when nobody can sign in to manage them',
    load: () => import('../server/users.ts'),
  },
  keys: { group: operation, description: 'the keys of this installation', load: () => import('../server/keys.ts') },
  database: { group: operation, description: 'the database server', load: () => import('../server/database.ts') },

  completion: {
    group: 'Other:',
    description: 'completion for bash, zsh and fish',
    load: () => import('../completion/completion.ts'),
  },
}

export const startGroup = 'Start:'
