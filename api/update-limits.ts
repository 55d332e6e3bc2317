/** The limits of the update hub. */
export const updateLimits = {
  /** The maximum size of an artefact in bytes. */
  artefactBytes: 16 * 1024 * 1024 * 1024,
  /** The maximum number of bytes in one request with content. Larger artefacts are sent in several requests. */
  contentBytesPerRequest: 256 * 1024 * 1024,
  /** The maximum number of artefacts in a tenant. */
  artefacts: 10_000,
  /** The time after which an upload that was not completed is deleted. */
  uploadDays: 7,
  products: 64,
  hardwareVersions: 64,
  requirements: 32,
  /** The maximum length of a product, a version and a range of versions. */
  text: 256,
  releaseNotes: 20_000,
  /** The maximum size of a detached signature. */
  signatureCharacters: 64 * 1024,
  trustAnchors: 64,
  trustAnchorCharacters: 16 * 1024,
  /** The maximum number of targets of a campaign. */
  targets: 10_000,
  /** The maximum number of asset ids of a campaign in a list of campaigns. */
  shownTargets: 100,
  waves: 20,
  /** The maximum number of campaigns in a tenant that have not ended. */
  openCampaigns: 100,
  /** The number of days for which an ended campaign is stored. */
  campaignDays: 730,
  /** The maximum number of groups of failed devices. */
  failureGroups: 200,
  /** The maximum number of assets that a group of failed devices names. */
  failureAssets: 5,
  /** The maximum number of devices of a campaign that are updated at the same time. */
  concurrentDevices: 200,
  /** The maximum number of steps from the installed version to the version of the campaign. */
  steps: 8,
  windowMinutes: 7 * 24 * 60,
  /** The maximum number of hierarchy nodes with a maintenance window. */
  nodeWindows: 1_000,
  verifyMinutes: { minimum: 1, maximum: 24 * 60, default: 15 },
  reason: 1_000,
} as const
