import type { Page } from 'playwright-core'

/** `PlantIds` contains ids of entities in the plant, for pages that show one entity. */
export type PlantIds = {
  assetId: string
  gatewayId: string
  scanId: string
  jobId: string
  campaignId: string
  hierarchyId: string
  nodeId: string
  /** The time after which users changed the plant. */
  operatedAt: string
}

export type Place = {
  name: string
  path: (ids: PlantIds) => string
  /** Prepares the page before the picture is taken, for example opens a dialog or waits. */
  prepare?: (page: Page) => Promise<unknown>
}

/** Waits until the picture of the relations is drawn. */
function settled(page: Page): Promise<unknown> {
  return page.locator('.relation-map').waitFor({ timeout: 120_000 })
}

/** Waits until the map is drawn. */
function drawn(page: Page): Promise<unknown> {
  return page.locator('.map[aria-busy=false] .map-canvas[data-drawn]').waitFor({ timeout: 120_000 })
}

/** The pages of the console of which pictures are taken. */
export const places: readonly Place[] = [
  { name: 'start', path: () => '/' },
  { name: 'inbox', path: () => '/inbox' },
  { name: 'inbox-ignored', path: () => '/inbox?list=ignored' },
  { name: 'inbox-duplicates', path: () => '/inbox?list=twins' },
  { name: 'inbox-decisions', path: () => '/inbox?list=decisions' },
  { name: 'onboarding-rules', path: () => '/inbox/rules' },
  { name: 'assets', path: () => '/assets' },
  {
    name: 'assets-filtered',
    path: () =>
      `/assets?by=access_group&filter=${encodeURIComponent("startswith(name,'AAR') and firmware_version ne null")}`,
  },
  {
    name: 'assets-columns',
    path: () => '/assets',
    prepare: (page) => page.getByRole('button', { name: 'Columns' }).click(),
  },
  {
    name: 'assets-selected',
    path: () => '/assets',
    prepare: (page) => page.getByRole('checkbox', { name: 'Select row 3', exact: true }).check(),
  },
  { name: 'asset', path: ({ assetId }) => `/assets/${assetId}` },
  { name: 'asset-relations', path: ({ assetId }) => `/assets/${assetId}?tab=relations`, prepare: settled },
  { name: 'asset-identity', path: ({ assetId }) => `/assets/${assetId}?tab=identity` },
  { name: 'asset-updates', path: ({ assetId }) => `/assets/${assetId}?tab=updates` },
  { name: 'asset-history', path: ({ assetId }) => `/assets/${assetId}?tab=history` },
  { name: 'asset-history-relations', path: ({ assetId }) => `/assets/${assetId}?tab=history&view=relations` },
  { name: 'asset-history-sources', path: ({ assetId }) => `/assets/${assetId}?tab=history&view=sources` },
  { name: 'hierarchy', path: ({ hierarchyId }) => `/hierarchy?hierarchy=${hierarchyId}&node=unassigned` },
  {
    name: 'hierarchy-node',
    path: ({ hierarchyId, nodeId }) => `/hierarchy?hierarchy=${hierarchyId}&node=${nodeId}`,
    prepare: (page) => page.getByRole('checkbox', { name: 'Select row 2', exact: true }).check(),
  },
  {
    name: 'hierarchy-details',
    path: ({ hierarchyId, nodeId }) => `/hierarchy?hierarchy=${hierarchyId}&node=${nodeId}&view=details`,
  },
  { name: 'hierarchy-create', path: ({ hierarchyId }) => `/hierarchy?hierarchy=${hierarchyId}&add=yes` },
  { name: 'hierarchy-rules', path: ({ hierarchyId }) => `/hierarchy/${hierarchyId}/rules` },
  { name: 'topology', path: () => '/topology', prepare: drawn },
  { name: 'topology-node', path: ({ nodeId }) => `/topology?in=${nodeId}`, prepare: drawn },
  { name: 'topology-subnets', path: () => '/topology?by=subnet', prepare: drawn },
  { name: 'topology-switches', path: () => '/topology?by=switch', prepare: drawn },
  { name: 'topology-all', path: () => '/topology?by=subnet&all=yes', prepare: drawn },
  {
    name: 'topology-changes',
    path: ({ operatedAt }) => `/topology?compare=yes&since=${operatedAt}`,
    prepare: drawn,
  },
  { name: 'topology-impact', path: ({ assetId }) => `/topology?asset=${assetId}&show=fails`, prepare: drawn },
  { name: 'asset-impact', path: ({ assetId }) => `/assets/${assetId}?tab=impact` },
  { name: 'impact-reports', path: () => '/topology/impact' },
  { name: 'discovery', path: () => '/discovery' },
  { name: 'discovery-scan', path: () => '/discovery?scan=any' },
  { name: 'discovery-onboard', path: () => '/discovery?onboard=yes' },
  { name: 'gateway', path: ({ gatewayId }) => `/discovery/gateways/${gatewayId}` },
  { name: 'scan', path: ({ scanId }) => `/discovery/scans/${scanId}` },
  { name: 'scan-missing', path: ({ scanId }) => `/discovery/scans/${scanId}?view=gone` },
  { name: 'scan-errors', path: ({ scanId }) => `/discovery/scans/${scanId}?view=errors` },
  { name: 'monitoring', path: () => '/monitoring' },
  { name: 'monitoring-create', path: () => '/monitoring?add=yes' },
  { name: 'remote-access', path: () => '/remote' },
  { name: 'remote-access-policies', path: () => '/remote?view=policies' },
  { name: 'remote-access-switches', path: () => '/remote?view=switches' },
  { name: 'updates', path: () => '/updates' },
  { name: 'updates-artefacts', path: () => '/updates?view=artefacts' },
  { name: 'updates-upload', path: () => '/updates?view=artefacts&add=yes' },
  { name: 'updates-versions', path: () => '/updates?view=drift' },
  { name: 'updates-trust', path: () => '/updates?view=trust' },
  { name: 'updates-campaign', path: () => '/updates/campaigns/new' },
  {
    name: 'campaign',
    path: ({ campaignId }) => `/updates/campaigns/${campaignId}`,
    prepare: (page) => page.getByRole('grid', { name: 'Devices' }).waitFor(),
  },
  { name: 'jobs-campaign', path: ({ campaignId }) => `/jobs?tag=campaign/${campaignId}` },
  { name: 'jobs', path: () => '/jobs' },
  { name: 'job', path: ({ jobId }) => `/jobs/${jobId}` },
  { name: 'credentials', path: () => '/credentials' },
  { name: 'credentials-address', path: () => '/credentials?q=10.0.1.12' },
  { name: 'credentials-schemas', path: () => '/credentials?view=schemas' },
  { name: 'credentials-templates', path: () => '/credentials?view=templates' },
  { name: 'workflows', path: () => '/workflows' },
  { name: 'webhooks', path: () => '/webhooks' },
  { name: 'webhooks-create', path: () => '/webhooks/new' },
  { name: 'webhooks-mqtt', path: () => '/webhooks?view=mqtt' },
  { name: 'webhooks-mqtt-create', path: () => '/webhooks/mqtt/new' },
  { name: 'access', path: () => '/access' },
  ...['programs', 'roles', 'groups', 'grants', 'providers', 'policy', 'why'].map((view) => ({
    name: `access-${view}`,
    path: () => `/access?view=${view}`,
  })),
  { name: 'activity', path: () => '/activity' },
  { name: 'activity-week', path: () => '/activity?range=week' },
  { name: 'model', path: () => '/model' },
  { name: 'model-schemas', path: () => '/model?view=schemas' },
  { name: 'account', path: () => '/account' },
  { name: 'account-security', path: () => '/account?view=security' },
  { name: 'account-sessions', path: () => '/account?view=sessions' },
  { name: 'command-palette', path: () => '/account', prepare: (page) => page.keyboard.press('Control+k') },
]

/** The pages that show their empty state, of a platform that contains only a gateway and one scan. */
export const emptyPlaces: readonly Place[] = [
  { name: 'monitoring-empty', path: () => '/monitoring' },
  { name: 'updates-empty', path: () => '/updates' },
  { name: 'webhooks-empty', path: () => '/webhooks' },
  { name: 'remote-access-empty', path: () => '/remote' },
  { name: 'credentials-empty', path: () => '/credentials' },
  { name: 'inbox-decisions-empty', path: () => '/inbox?list=decisions' },
  { name: 'onboarding-rules-empty', path: () => '/inbox/rules' },
  { name: 'impact-reports-empty', path: () => '/topology/impact' },
]
