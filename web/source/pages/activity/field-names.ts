import type { Language } from '../../app/language/language.ts'

/** The names of fields in sentences: with an article in the accusative, and alone. */
type FieldName = readonly [inSentence: string, plain: string]

const names: Readonly<Record<Language, Readonly<Record<string, FieldName>>>> = {
  en: {
    firmware: ['the firmware', 'firmware'],
    name: ['the name', 'name'],
    description: ['the description', 'description'],
    access_group: ['the access group', 'access group'],
    management_state: ['the management state', 'management state'],
    reachability_state: ['the reachability', 'reachability'],
    trust_state: ['the trust state', 'trust state'],
    responsible: ['the responsible person', 'responsible person'],
    operating_mode: ['the operating mode', 'operating mode'],
    type: ['the type', 'type'],
    serial_number: ['the serial number', 'serial number'],
    manufacturer: ['the manufacturer', 'manufacturer'],
    product_name: ['the product name', 'product name'],
    product_id: ['the article number', 'article number'],
    product_version: ['the hardware version', 'hardware version'],
    addresses: ['the IP address', 'IP address'],
    connection_points: ['the ports', 'ports'],
    software_components: ['the software', 'software'],
    location: ['the location', 'location'],
    instance_annotations: ['the annotations', 'annotations'],
    asset_operations: ['the operations', 'operations'],
    product_instance_information: ['the product data', 'product data'],
  },
  de: {
    firmware: ['die Firmware', 'Firmware'],
    name: ['den Namen', 'Name'],
    description: ['die Beschreibung', 'Beschreibung'],
    access_group: ['die Zugriffsgruppe', 'Zugriffsgruppe'],
    management_state: ['den Verwaltungszustand', 'Verwaltungszustand'],
    reachability_state: ['die Erreichbarkeit', 'Erreichbarkeit'],
    trust_state: ['den Vertrauensstatus', 'Vertrauensstatus'],
    responsible: ['den Verantwortlichen', 'Verantwortlicher'],
    operating_mode: ['die Betriebsart', 'Betriebsart'],
    type: ['den Typ', 'Typ'],
    serial_number: ['die Seriennummer', 'Seriennummer'],
    manufacturer: ['den Hersteller', 'Hersteller'],
    product_name: ['die Produktbezeichnung', 'Produktbezeichnung'],
    product_id: ['die Artikelnummer', 'Artikelnummer'],
    product_version: ['den Hardwarestand', 'Hardwarestand'],
    addresses: ['die IP-Adresse', 'IP-Adresse'],
    connection_points: ['die Anschlüsse', 'Anschlüsse'],
    software_components: ['die Software', 'Software'],
    location: ['den Standort', 'Standort'],
    instance_annotations: ['die Anmerkungen', 'Anmerkungen'],
    asset_operations: ['die Operationen', 'Operationen'],
    product_instance_information: ['die Produktdaten', 'Produktdaten'],
  },
}

const propertyPrefix = 'custom_properties/'

/** Returns the name of a field in a sentence. `isPlain` returns the name without an article. */
export function fieldName(field: string, language: Language, { isPlain = false } = {}): string {
  if (field.startsWith(propertyPrefix)) {
    const property = field.slice(propertyPrefix.length)
    return isPlain ? property : `${language === 'de' ? 'die Eigenschaft' : 'the property'} ${property}`
  }
  const [inSentence, plain] = names[language][field] ?? [field.replaceAll('_', ' '), field.replaceAll('_', ' ')]
  return isPlain ? plain : inSentence
}
