"""The model beside a broker over the network: `conform --live`."""
