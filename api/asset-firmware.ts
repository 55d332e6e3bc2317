type PlainObject = { readonly [name: string]: unknown }

/**
 * Returns the firmware version of an asset. This is the version of its first firmware component, read from the software
 * identifier, or from the product of the component if the identifier has none. If the asset itself is firmware, its own
 * version is used. The product version of a device is not used, because it is the version of the hardware.
 */
export function firmwareVersionOf(document: PlainObject): string | null {
  const component = objectsOf(document.software_components).find(isFirmware)
  if (component !== undefined) return versionOf(objectOf(component.artifact))
  return document.is_firmware === true ? versionOf(document) : null
}

/** Returns the names and versions of the software components that are not firmware. */
export function softwareOf(document: PlainObject): { name: string; version: string }[] {
  return objectsOf(document.software_components)
    .filter((component) => !isFirmware(component))
    .flatMap((component) => {
      const artifact = objectOf(component.artifact)
      const identifier = objectsOf(artifact.asset_identifiers).find(isSoftwareIdentifier)
      const name = textOf(identifier?.name) ?? textOf(artifact.name)
      const version = versionOf(artifact)
      return name === null || version === null ? [] : [{ name, version }]
    })
}

export function isFirmware(component: PlainObject): boolean {
  return objectOf(component.artifact).is_firmware === true
}

function versionOf(artifact: PlainObject): string | null {
  const identifier = objectsOf(artifact.asset_identifiers).find(isSoftwareIdentifier)
  const product = objectOf(objectOf(artifact.product_instance_information).manufacturer_product)
  return textOf(identifier?.version) ?? textOf(product.product_version)
}

export function isSoftwareIdentifier(identifier: PlainObject): boolean {
  return identifier.asset_identifier_type === 'SoftwareIdentifier'
}

function objectOf(value: unknown): PlainObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as PlainObject) : {}
}

function objectsOf(value: unknown): PlainObject[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === 'object' && entry !== null) : []
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
