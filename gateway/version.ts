import manifest from './package.json' with { type: 'json' }

/** The semantic version of the gateway, for compatibility checks with links. */
export const gatewayVersion = manifest.version
