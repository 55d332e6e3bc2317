export type SubjectLocation = { to: string; search?: Record<string, string> }

/**
 * The routes of the entities that events and audit entries refer to. A reference has the form `kind/id`, and the key of
 * this record is the kind.
 */
const locations: Readonly<Record<string, (id: string) => SubjectLocation>> = {
  asset: (id) => ({ to: `/assets/${id}` }),
  job: (id) => ({ to: `/jobs/${id}` }),
  gateway: (id) => ({ to: `/discovery/gateways/${id}` }),
  discovery: (id) => ({ to: `/discovery/scans/${id}` }),
  decision: () => ({ to: '/inbox', search: { list: 'decisions' } }),
  monitoring: (id) => ({ to: `/monitoring/${id}` }),
  'impact-report': (id) => ({ to: `/topology/impact/${id}` }),
  'remote-session': (id) => ({ to: `/remote/sessions/${id}` }),
  artefact: (id) => ({ to: `/updates/artefacts/${id}` }),
  'update-campaign': (id) => ({ to: `/updates/campaigns/${id}` }),
  'credential-instance': (id) => ({ to: `/credentials/${id}` }),
  import: (id) => ({ to: `/files/imports/${id}` }),
  export: () => ({ to: '/files', search: { view: 'exports' } }),
  webhook: (id) => ({ to: `/webhooks/${id}` }),
  'mqtt-publisher': (id) => ({ to: `/webhooks/mqtt/${id}` }),
  user: (id) => ({ to: `/access/people/${id}` }),
  'server-user': (id) => ({ to: `/access/programs/${id}` }),
  hierarchy: (id) => ({ to: '/hierarchy', search: { hierarchy: id } }),
  node: (id) => ({ to: '/hierarchy', search: { node: id } }),
  workflow: (name) => ({ to: '/workflows', search: { name } }),
  role: () => ({ to: '/access', search: { view: 'roles' } }),
  grant: () => ({ to: '/access', search: { view: 'grants' } }),
  'access-group': () => ({ to: '/access', search: { view: 'groups' } }),
  'custom-property': () => ({ to: '/model', search: { view: 'properties' } }),
  schema: () => ({ to: '/model', search: { view: 'schemas' } }),
}

/** Returns the route of the entity with this reference, or undefined if the entity has no page. */
export function locationOf(subject: string): SubjectLocation | undefined {
  const [, kind = '', id = ''] = /^([a-z-]+)\/([^/]+)/.exec(subject) ?? []
  return Object.hasOwn(locations, kind) ? locations[kind]?.(id) : undefined
}
