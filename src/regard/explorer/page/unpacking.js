// Compressed data inside the page, unpacked when it is first needed.

// The bytes of the element with this id.
export async function unpacked(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (sign) => sign.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
