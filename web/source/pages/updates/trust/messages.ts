import { messages } from '../../../app/language/language.ts'

export const trustMessages = messages({
  en: {
    trust: 'Trusted signers',
    anchors: 'Trust anchors',
    anchorsHint:
      'A trust anchor is a certificate or a public key whose signatures on artefacts are accepted. Gateways check the signature again before they update a device.',
    add: 'Add trust anchor',
    addVerb: 'Add',
    added: 'Trust anchor added',
    none: 'No trust anchors yet',
    noneHint:
      'Add the certificate or the public key of the manufacturer that signs the artefacts. Without a trust anchor, no signature is trusted.',
    noneReader: 'An administrator adds the certificates and public keys of manufacturers.',
    name: 'Name',
    nameHint: 'For example the manufacturer',
    publicKey: 'Certificate or public key',
    publicKeyHint:
      'A certificate in PEM format, or a minisign public key. Get it from a trustworthy source, and not from the same place as the artefact.',
    chooseFile: 'Choose key file',
    required: 'Required',
    format: 'Format',
    certificate: 'X.509 certificate',
    'minisign-key': 'minisign public key',
    fingerprint: 'Fingerprint',
    subject: 'Subject',
    expires: 'Valid until',
    expired: 'Expired',
    createdBy: 'Added by',
    created: 'Added',
    delete: 'Delete',
    deleteTitle: (name: string) => `Delete trust anchor ${name}?`,
    deleteText:
      'Artefacts whose signature only this trust anchor confirms can no longer be installed. Running campaigns that install these artefacts are stopped.',
    deleted: 'Trust anchor deleted',
    unsigned: 'Unsigned artefacts',
    unsignedText:
      'By default, artefacts without a trusted signature are refused. Manipulated firmware can damage machines and endanger people.',
    allowedWarning:
      'Unsigned artefacts can be installed on all devices of this tenant. The platform cannot detect whether such an artefact was manipulated before its upload.',
    allow: 'Allow unsigned artefacts',
    allowTitle: 'Allow unsigned artefacts?',
    allowText:
      'Campaigns can then install artefacts without a signature, or with the signature of an untrusted signer. The platform cannot detect whether such an artefact was manipulated. The audit trail records the change.',
    allowConfirm: 'I accept the risk',
    nowAllowed: 'Unsigned artefacts are now allowed',
    nowRefused: 'Unsigned artefacts are now refused',
    localFile:
      'A gateway with the file update-trust.json also checks artefacts, with the trust anchors and the setting in this file.',
  },
  de: {
    trust: 'Vertrauensanker',
    anchors: 'Vertrauensanker',
    anchorsHint:
      'Ein Vertrauensanker ist ein Zertifikat oder ein öffentlicher Schlüssel, dessen Signaturen auf Artefakten akzeptiert werden. Gateways prüfen die Signatur erneut, bevor sie ein Gerät aktualisieren.',
    add: 'Vertrauensanker hinzufügen',
    addVerb: 'Hinzufügen',
    added: 'Vertrauensanker hinzugefügt',
    none: 'Noch keine Vertrauensanker',
    noneHint:
      'Fügen Sie das Zertifikat oder den öffentlichen Schlüssel des Herstellers hinzu, der die Artefakte signiert. Ohne Vertrauensanker gilt keine Signatur als vertrauenswürdig.',
    noneReader: 'Ein Administrator fügt die Zertifikate und öffentlichen Schlüssel der Hersteller hinzu.',
    name: 'Name',
    nameHint: 'Zum Beispiel der Hersteller',
    publicKey: 'Zertifikat oder öffentlicher Schlüssel',
    publicKeyHint:
      'Ein Zertifikat im PEM-Format oder ein öffentlicher minisign-Schlüssel. Verwenden Sie eine vertrauenswürdige Quelle, nicht dieselbe Stelle wie für das Artefakt.',
    chooseFile: 'Schlüsseldatei wählen',
    required: 'Erforderlich',
    format: 'Format',
    certificate: 'X.509-Zertifikat',
    'minisign-key': 'Öffentlicher minisign-Schlüssel',
    fingerprint: 'Fingerabdruck',
    subject: 'Antragsteller',
    expires: 'Gültig bis',
    expired: 'Abgelaufen',
    createdBy: 'Hinzugefügt von',
    created: 'Hinzugefügt',
    delete: 'Löschen',
    deleteTitle: (name: string) => `Vertrauensanker ${name} löschen?`,
    deleteText:
      'Artefakte, deren Signatur nur dieser Vertrauensanker bestätigt, sind nicht mehr installierbar. Laufende Kampagnen, die diese Artefakte installieren, werden gestoppt.',
    deleted: 'Vertrauensanker gelöscht',
    unsigned: 'Nicht signierte Artefakte',
    unsignedText:
      'Standardmäßig werden Artefakte ohne vertrauenswürdige Signatur abgelehnt. Manipulierte Firmware kann Maschinen beschädigen und Menschen gefährden.',
    allowedWarning:
      'Nicht signierte Artefakte können auf allen Geräten dieses Mandanten installiert werden. Die Plattform erkennt nicht, ob ein solches Artefakt vor dem Hochladen manipuliert wurde.',
    allow: 'Nicht signierte Artefakte erlauben',
    allowTitle: 'Nicht signierte Artefakte erlauben?',
    allowText:
      'Kampagnen können dann Artefakte ohne Signatur oder mit der Signatur eines nicht vertrauenswürdigen Signaturgebers installieren. Die Plattform erkennt nicht, ob ein solches Artefakt manipuliert wurde. Die Änderung wird im Audit-Protokoll vermerkt.',
    allowConfirm: 'Ich akzeptiere das Risiko',
    nowAllowed: 'Nicht signierte Artefakte sind jetzt erlaubt',
    nowRefused: 'Nicht signierte Artefakte werden jetzt abgelehnt',
    localFile:
      'Ein Gateway mit der Datei update-trust.json prüft Artefakte zusätzlich, mit den Vertrauensankern und der Einstellung in dieser Datei.',
  },
})

export type TrustText = (typeof trustMessages)['en']
