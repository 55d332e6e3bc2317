/** The semantic ids of the elements of the submodel Technical Data that contain an asset of this platform. */

/** The document of the asset, with all its fields. */
export const assetDocumentId = 'urn:millwright:aas:asset-document:1'

/** The relations of the asset. */
export const relationsId = 'urn:millwright:aas:relations:1'
