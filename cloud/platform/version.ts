import manifest from '../../package.json' with { type: 'json' }

/** The semantic version of the product. */
export const productVersion = manifest.version
