import manifest from './package.json' with { type: 'json' }

/** The semantic version of the gateway: what compatibility with links is judged by. */
export const gatewayVersion = manifest.version
