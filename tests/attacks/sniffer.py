"""Runs in a network namespace and writes a line for every packet that holds one of the words given. Standard library.

The first line says that it listens; ends when it is killed.
"""

import socket
import sys

ALL_PROTOCOLS = 3
PACKET_BYTES = 65_536


def main() -> None:
    words = [word.encode() for word in sys.argv[1:]]
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)) as ear:
        print("listening", flush=True)
        while True:
            packet, (interface, *_) = ear.recvfrom(PACKET_BYTES)
            for word in words:
                if word in packet:
                    print(word.decode(), interface, flush=True)


if __name__ == "__main__":
    main()
